-- /etc/ruled/ruled.conf.lua: a Lua file that runs in the sandbox of the rules. A key that is left out has the default shown here.
-- `ruled --config FILE --check` checks it. The file can compute numbers and build tables, and has no access to the host.

socket     = "/run/ruled/ruled.sock"   -- under systemd, ruled.socket sets the path
rules      = "/etc/ruled/rules"
store      = "rocksdb:/var/lib/ruled"  -- or "memory:", which loses everything at the end
durability = "commit"                  -- or "interval": replies do not wait for the disk, the last second may be lost
workers    = 0                         -- 0: one for each processor
admins     = {}                        -- e.g. { "alice", "@ops" }, besides root and the daemon's own user

couriers   = { "ruled-courier" }       -- who may lease effects and confirm them; {} without a courier
delivery   = "courier"                 -- the default is "daemon"; ruled.service opens no network, ruled-courier.service delivers

-- With delivery = "courier", systemd opens these addresses: enable ruled-http.socket for listen, ruled-sites.socket for sites.
-- http = { listen = "127.0.0.1:8787", token_file = "/etc/ruled/token", role = "reader" }
-- http = { sites = "127.0.0.1:8788" }  -- plugins' sites alone, for a reverse proxy

limits = {
  request_bytes = 1048576,  -- one request, without its newline
  connections   = 1024,
  in_flight     = 65536,    -- requests received and not yet answered, in the whole daemon
  reserved      = 16,       -- of both, for administrators and probes alone
  idle_s        = 300,      -- after so long without a request a connection may be closed for another one
  state_kib     = 256,      -- one plugin's state of one subject
  cache_mib     = 256,      -- cache of hot subjects
}

dedup = { window = "48h" }  -- how long a repeated event gets its first outcome again

-- What happened, for 'rulectl log' and backtests; keep = "0" is none.
journal = { keep = "7d", max_gib = 4, snapshot = "1d", redact = {} }  -- redact = { "email", "profile.phone" }

plugins = {
  -- attribution = { reprompt_days = 14 },
  -- deeplinks   = { enabled = false },
}

sinks = {
  -- conversions = { url = "https://graph.example/events", secret_file = "/etc/ruled/conversions.token" },
  -- mail     = { lease = true },  -- a program of your own delivers, with `lease` and `confirm`
  analytics = { file = "/var/log/ruled/analytics.ndjson" },
  rejected  = { log = true },
}

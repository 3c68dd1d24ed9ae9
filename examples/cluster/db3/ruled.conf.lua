-- /etc/ruled/ruled.conf.lua on db3
rules = "/etc/ruled/rules"
socket = "/run/ruled/ruled.sock"

store = "postgresql://ruled@db1,db2,db3/ruled?target_session_attrs=read-write&sslmode=verify-full"
  .. "&sslcert=/etc/ruled/tls/node.pem&sslkey=/etc/ruled/tls/node.key&sslrootcert=/etc/ruled/tls/authority.pem"
  .. "&connect_timeout=3&tcp_user_timeout=5000"

cluster = {
  node = "db3",
  address = "db3:/run/ruled/ruled.sock",
  folder = "/var/lib/ruled",
  listen = "10.0.0.13:7433",
  certificate = "/etc/ruled/tls/node.pem",
  key = "/etc/ruled/tls/node.key",
  authority = "/etc/ruled/tls/authority.pem",
  snapshots = "/srv/ruled-snapshots",  -- one folder for all hosts, such as an NFS export, or "s3://bucket"; without it the log is never cut
}

-- ruled-courier.service delivers effects, as after the installation.
couriers = { "ruled-courier" }
delivery = "courier"

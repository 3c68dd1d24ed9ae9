-- Pages for browsers: small, without scripts, usable by keyboard and screen readers, light and dark.

local page = {}

page.content_type = "text/html; charset=utf-8"

local LAYOUT = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
  :root { color-scheme: light dark; --ink: #10312b; --paper: #f4faf8; --accent: #0b6b5a; --on-accent: #fff; }
  @media (prefers-color-scheme: dark) {
    :root { --ink: #e6f3ef; --paper: #0d1a17; --accent: #7fd8c3; --on-accent: #06241d; }
  }
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--paper); color: var(--ink);
    font: 1.125rem/1.5 system-ui, -apple-system, sans-serif; }
  main { padding: 2rem; max-width: 32rem; text-align: center; }
  h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 1rem; }
  .button { display: inline-block; margin-top: 1rem; padding: .875rem 1.75rem; border-radius: .75rem;
    background: var(--accent); color: var(--on-accent); font-weight: 600; text-decoration: none; }
  .button:hover { text-decoration: underline; }
  .button:focus-visible { outline: .2rem solid var(--ink); outline-offset: .2rem; }
</style>
</head>
<body>
<main>
{content}
</main>
</body>
</html>
]]

local DOWNLOAD = [[
<h1>{name}</h1>
<p>This link opens in the app. Get it, then tap the link again.</p>
<p><a class="button" href="{link}">Download on the App Store</a></p>]]

local NOT_FOUND = [[
<h1>Page not found</h1>
<p>There is nothing at this address.</p>]]

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

local function escaped(s) return (s:gsub("[&<>\"']", ENTITIES)) end

local function filled(template, values) return (template:gsub("{(%l+)}", values)) end

function page.download(name, link)
  local content = filled(DOWNLOAD, { name = escaped(name), link = escaped(link) })
  return filled(LAYOUT, { title = escaped("Get " .. name), content = content })
end

function page.not_found(name)
  return filled(LAYOUT, { title = escaped("Page not found – " .. name), content = NOT_FOUND })
end

return page

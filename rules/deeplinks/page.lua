-- Pages for browsers: small, without scripts, usable by keyboard and screen readers, light and dark.

local page = {}

page.content_type = "text/html; charset=utf-8"

local LAYOUT = [[
<!DOCTYPE html>
<html lang="{language}">
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
<h1>{heading}</h1>
<p>{text}</p>
<p><a class="button" href="{link}">{button}</a></p>]]

local NOT_FOUND = [[
<h1>{heading}</h1>
<p>{text}</p>]]

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

local function escaped(s) return (s:gsub("[&<>\"']", ENTITIES)) end

local function filled(template, values) return (template:gsub("{(%l+)}", values)) end

-- A text of the settings, with the app's name in it.
local function told(name) return escaped(filled(settings.page[name], { name = settings.app_name })) end

local function laid_out(title, content)
  return filled(LAYOUT, { language = told "language", title = title, content = content })
end

function page.download()
  return laid_out(told "title", filled(DOWNLOAD, {
    heading = told "heading", text = told "text", button = told "button", link = escaped(settings.search_url),
  }))
end

function page.not_found()
  return laid_out(told "missing_title", filled(NOT_FOUND, {
    heading = told "missing_heading", text = told "missing_text",
  }))
end

return page

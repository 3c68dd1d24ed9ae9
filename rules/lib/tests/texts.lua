local texts = require "texts"

local ALL = {
  hello = "Hello, {name}", bye = "Bye", pt = { hello = "Olá, {name}" }, ["pt-BR"] = { hello = "Oi, {name}" },
}

test "a text is that of the locale, of its language, or the one beside them" (function(t)
  t:each({
    { nil, "Hello, A" }, { "fr", "Hello, A" }, { "pt", "Olá, A" }, { "PT-pt", "Olá, A" }, { "pt-BR", "Oi, A" },
    { "pt_BR", "Oi, A" },
  }, function(case) t:equal(texts.of(ALL, case[1], "hello", { name = "A" }), case[2]) end)
  t:equal(texts.of(ALL, "pt-BR", "bye"), "Bye")
end)

test "values stand for their names alone" (function(t)
  t:equal(texts.of(ALL, nil, "hello", { name = "%1 {name}" }), "Hello, %1 {name}")
  t:equal(texts.of(ALL, nil, "hello", {}), "Hello, {name}")
end)

test "a locale has a language of two or three letters" (function(t)
  for _, locale in ipairs { "de", "de-AT", "zh_Hant_TW", "gsw", "es-419" } do
    t:truthy(texts.is_locale(locale), locale)
  end
  for _, value in ipairs { "", "d", "german", "de AT", "de\n", ("de-"):rep(12), 5 } do
    t:equal(texts.is_locale(value), false, tostring(value))
  end
end)

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

test "each text is looked for in the locale, in wider ones, and beside them, in any case" (function(t)
  local all = {
    a = "a", b = "b", c = "c", zh = { b = "b zh", c = "c zh" }, ["zh_hant"] = { c = "c Hant" }, ["z"] = { a = "z" },
  }
  t:each({
    { "zh-Hant-TW", "a", "b zh", "c Hant" }, { "zh_Hant_TW", "a", "b zh", "c Hant" },
    { "ZH-HANT", "a", "b zh", "c Hant" },
    { "zh-Hans", "a", "b zh", "c zh" }, { "zh-Han", "a", "b zh", "c zh" }, { "zha", "a", "b", "c" },
  }, function(case)
    for i, key in ipairs { "a", "b", "c" } do t:equal(texts.of(all, case[1], key), case[i + 1], case[1]) end
  end)
end)

test "values stand for their names alone" (function(t)
  t:equal(texts.of(ALL, nil, "hello", { name = "%1 {name}" }), "Hello, %1 {name}")
  t:equal(texts.of(ALL, nil, "hello", {}), "Hello, {name}")
end)

test "a locale has a language of two or three letters" (function(t)
  for _, locale in ipairs { "de", "de-AT", "zh_Hant_TW", "gsw", "es-419" } do
    t:truthy(texts.is_locale(locale), locale)
  end
  for _, value in ipairs { "", "d", "german", "de AT", "de\n", ("de-"):rep(12), 5, "xx-", "en--US", "en-_US", "de1" } do
    t:equal(texts.is_locale(value), false, tostring(value))
  end
end)

test "a text names its own value, and a locale is there once" (function(t)
  local named = { hello = "name" }
  t:each({
    { {} }, { { hello = "Hello, {name}", bye = "Bye {", pt = { hello = "Olá" } } }, { { hello = 5 } },
    { { hello = "Hello, {nam}" }, "'hello' has no {nam}, only name" },
    { { pt = { bye = "Tchau, {name}" } }, "'bye' has no {name}, only words" },
    { { ["pt-BR"] = {}, pt_br = {} }, "two tables are of pt-br" },
  }, function(case) t:equal(texts.problem(case[1], named), case[2]) end)
end)

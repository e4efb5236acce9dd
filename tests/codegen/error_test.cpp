// Error messages are part of the interface: file, line, column, source line, caret and call chain,
// word for word.
#include "codegen/engine_fixture.h"

namespace ffpa_jit::codegen {
namespace {

TEST(TemplateErrors, UndefinedNameHasPlaceAndCaret) {
  EXPECT_EQ(error_of({{"main", "first\n  int a = {{ block_m }};\n"}}),
            "templates/main:2:14: 'block_m' is undefined\n"
            "    int a = {{ block_m }};\n"
            "               ^");
}

TEST(TemplateErrors, LineStatement) {
  EXPECT_EQ(error_of({{"main", "a\n  //% if head_dim > 64\nb\n//% endif\n"}}),
            "templates/main:2:10: 'head_dim' is undefined\n"
            "    //% if head_dim > 64\n"
            "           ^");
}

TEST(TemplateErrors, ColumnCountsCharactersNotBytes) {
  EXPECT_EQ(error_of({{"main", "größe {{ x }}"}}),
            "templates/main:1:10: 'x' is undefined\n"
            "  größe {{ x }}\n"
            "           ^");
}

TEST(TemplateErrors, TabsStayTabsUnderTheCaret) {
  EXPECT_EQ(error_of({{"main", "\t{{ x }}"}}),
            "templates/main:1:5: 'x' is undefined\n"
            "  \t{{ x }}\n"
            "  \t   ^");
}

TEST(TemplateErrors, MissingAttributeNamesTheType) {
  EXPECT_EQ(error_of({{"main", "{{ mask.kind }}"}}, {{"mask", Json::object()}}),
            "templates/main:1:9: 'dict object' has no attribute 'kind'\n"
            "  {{ mask.kind }}\n"
            "          ^");
}

TEST(TemplateErrors, ChainOfIncludesAndMacros) {
  EXPECT_EQ(error_of({{"main", "//% include 'middle.j2'\n"},
                      {"middle.j2", "\n{% import 'lib.j2' as lib %}\n{{ lib.load(1) }}\n"},
                      {"lib.j2", "{% macro load(x) %}\n  {{ x + missing }}\n{% endmacro %}\n"}}),
            "templates/lib.j2:2:10: 'missing' is undefined\n"
            "    {{ x + missing }}\n"
            "           ^\n"
            "macro 'load' called from templates/middle.j2:3\n"
            "included from templates/main:1");
}

TEST(TemplateErrors, SyntaxErrorInAnIncludedTemplate) {
  EXPECT_EQ(error_of({{"main", "x\n{% include 'b' %}"}, {"b", "{% if %}"}}),
            "templates/b:1:7: expected an expression, got end of statement\n"
            "  {% if %}\n"
            "        ^\n"
            "included from templates/main:2");
}

TEST(TemplateErrors, DeepRecursionShowsBothEnds) {
  std::string text = error_of({{"main", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"}});
  EXPECT_NE(text.find("nested deeper than 1000 levels (endless recursion?)"), std::string::npos)
      << text;
  EXPECT_NE(text.find(" more\nmacro 'm' called from templates/main:1"), std::string::npos) << text;
  EXPECT_LT(text.size(), 2000u);
}

struct Example {
  const char* source;
  const char* message;  // with its place
};

class TemplateErrorMessages : public ::testing::TestWithParam<Example> {};

TEST_P(TemplateErrorMessages, SayWhatIsWrong) {
  std::string text = error_of({{"main", GetParam().source}}, {{"n", 1}, {"items", {1, 2}}});
  EXPECT_EQ(text.substr(0, text.find('\n')), std::string("templates/main:") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, TemplateErrorMessages,
    ::testing::Values(
        Example{"{% extends 'a' %}",
                "1:4: 'extends' is outside the supported subset of Jinja2 (template inheritance; "
                "use include, import "
                "and macros)"},
        Example{"{% block a %}{% endblock %}",
                "1:4: 'block' is outside the supported subset of Jinja2 (template inheritance; use "
                "include, import "
                "and macros)"},
        Example{"{% nosuch %}", "1:4: unknown tag 'nosuch'"},
        Example{"{% if n %}x",
                "1:12: unexpected end of template; looking for 'elif' or 'else' or 'endif', to "
                "close 'if'"},
        Example{"{% for i in items %}{% endif %}",
                "1:24: unknown tag 'endif'; looking for 'endfor' or 'else', to close 'for'"},
        Example{"{{ n | nosuch }}", "1:8: there is no filter 'nosuch'"},
        Example{"{{ n | urlize }}",
                "1:8: the filter 'urlize' is outside the supported subset of Jinja2"},
        Example{"{{ n is nosuch }}", "1:9: there is no test 'nosuch'"},
        Example{"{{ n + 'a' }}", "1:6: unsupported operands for +: int object and str object"},
        Example{"{{ 1 // 0 }}", "1:6: division by zero"},
        Example{"{{ 9223372036854775807 + 1 }}",
                "1:24: this integer result does not fit in 64 bits"},
        Example{"{{ 9223372036854775808 }}", "1:4: this integer does not fit in 64 bits"},
        Example{"{{ 'abc }}", "1:4: this string is not closed"},
        Example{"{# abc", "1:1: this comment is not closed by #}"},
        Example{"{{ (n }}", "1:7: unexpected '}', expected ')'"},
        Example{"{% include 'b' %}", "1:4: there is no template 'b'"},
        Example{"{% for a, b in items %}{% endfor %}", "1:4: int object is not iterable"},
        Example{"{% set n.x = 1 %}",
                "1:4: cannot assign to an attribute of 'n', which is not a namespace()"},
        Example{"{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
                "1:34: macro 'm' takes at most 1 argument(s), 2 given"},
        Example{"{{ items | map('abs') }}",
                "1:12: a generator cannot be printed; add |list or |join"},
        Example{"{{ items | join(x=1) }}", "1:12: join takes no keyword argument 'x'"},
        Example{"{{ n() }}", "1:4: int object cannot be called"},
        Example{"{{ n.__class__ }}",
                "1:6: attributes that begin with two underlines ('__class__') are outside the "
                "supported subset"},
        Example{"{{ 'a'.encode() }}",
                "1:8: the method 'encode' of str object is outside the supported subset"},
        Example{"{% for loop in items %}{% endfor %}",
                "1:8: cannot assign to the special variable 'loop' inside a for loop"}));

TEST(TemplateErrors, TextThatIsNotUtf8) {
  EXPECT_EQ(error_of({{"main", "abc\xff"}}), "templates/main: not UTF-8 text (byte 3)");
}

TEST(TemplateErrors, ContextMustBeAnObject) {
  EXPECT_NE(error_of({{"main", "x"}}, Json::array()).find("must be a JSON object"),
            std::string::npos);
}

TEST(TemplateErrors, ContextWithAHugeInteger) {
  EXPECT_NE(
      error_of({{"main", "x"}}, {{"n", uint64_t{1} << 63}}).find("does not fit in 64 signed bits"),
      std::string::npos);
}

TEST(TemplateErrors, UnknownMainTemplate) {
  EXPECT_EQ(
      error_of({{"other", "x"}}),
      "there is no template 'main'; names are relative to templates/, such as 'common/params.h'");
}

TEST(TemplateErrors, TextWithoutAFileKeepsItsName) {
  TemplateEngine engine(std::make_shared<MapTemplates>(Templates{}));
  try {
    engine.render_text("{{ x }}", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 31), "<string>:1:4: 'x' is undefined\n");
  }
}

}  // namespace
}  // namespace ffpa_jit::codegen

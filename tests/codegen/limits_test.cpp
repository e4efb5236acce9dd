// Hostile templates end in a typed error that names the limit, soon and without a crash.

#include "codegen/engine_fixture.h"

namespace ffpa_jit::codegen {
namespace {

std::string repeat(const std::string& text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

struct Hostile {
  const char* name;
  std::string source;
  const char* message;
};

void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

class HostileTemplates : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileTemplates, EndInATypedError) {
  std::string text = error_of({{"main", GetParam().source}});
  EXPECT_NE(text.find(GetParam().message), std::string::npos) << text.substr(0, 500);
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileTemplates,
    ::testing::Values(
        Hostile{"endless_macro", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
                "nested deeper than"},
        Hostile{"endless_include", "{% include 'main' %}", "nested deeper than"},
        Hostile{"endless_import", "{% import 'main' as m %}", "nested deeper than"},
        Hostile{"endless_loop_recursion",
                "{% set l = [1] %}{% set _ = l.append(l) %}{% for x in l recursive %}{{ loop(l) "
                "}}{% endfor %}",
                "nested deeper than"},
        Hostile{"huge_range", "{% for i in range(1000000000000) %}{% endfor %}", "steps"},
        Hostile{"huge_range_list", "{{ range(1000000000000) | list | length }}", "steps"},
        Hostile{"growing_list",
                "{% set l = [1] %}{% for x in l %}{% set _ = l.append(x) %}{% endfor %}", "steps"},
        Hostile{
            "quadratic_search",
            "{% set l = range(100000) | list %}{% for i in l %}{% set _ = -1 in l %}{% endfor %}",
            "steps"},
        Hostile{"doubling_text",
                "{% set ns = namespace(s='x') %}{% for i in range(64) %}{% set ns.s = ns.s ~ ns.s "
                "%}{% endfor %}",
                "memory"},
        Hostile{"repeated_text", "{{ 'x' * 1000000000000 }}", "memory"},
        Hostile{"repeated_list", "{{ [1] * 1000000000000 }}", "steps"},
        Hostile{"wide_text", "{{ 'x'.center(1000000000000) }}", "memory"},
        Hostile{"wide_filter", "{{ 'x' | center(9223372036854775807) }}", "memory"},
        Hostile{"wide_indent", "{{ 'x' | indent(1000000000000) }}", "memory"},
        Hostile{"wide_percent", "{{ '%1000000000000d' % 1 }}", "too large"},
        Hostile{"wide_braces", "{{ '{:>1000000000}'.format(1) }}", "too large"},
        Hostile{"batch_fill", "{{ [1] | batch(1000000000000, 'x') | list }}", "steps"},
        Hostile{"many_slices", "{{ [1] | slice(1000000000000) | list | length }}", "steps"},
        Hostile{"growing_replace",
                "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(30) %}{% set ns.s = ns.s "
                "| replace('a', 'aaaaaaaa') %}"
                "{% endfor %}",
                "memory"},
        Hostile{"output",
                "{% set s = 'x' * 1000000 %}{% for i in range(1000) %}{{ s }}{% endfor %}",
                "bytes of output"},
        Hostile{"nested_value",
                "{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] "
                "%}{% endfor %}{{ ns.l }}",
                "nested deeper than 100 levels cannot be printed"},
        Hostile{"nested_compare",
                "{% set a = namespace(l=[]) %}{% set b = namespace(l=[]) %}{% for i in range(1000) "
                "%}{% set a.l = [a.l] %}"
                "{% set b.l = [b.l] %}{% endfor %}{{ a.l == b.l }}",
                "cannot be compared"},
        Hostile{"nested_json",
                "{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = [ns.l] %}{% "
                "endfor %}{{ ns.l | tojson }}",
                "not JSON serializable"},
        Hostile{"parentheses", "{{ " + repeat("(", 100000) + "1" + repeat(")", 100000) + " }}",
                "nested deeper than 200 levels"},
        Hostile{"brackets", "{{ " + repeat("[", 100000) + repeat("]", 100000) + " }}",
                "nested deeper than 200 levels"},
        Hostile{"nots", "{{ " + repeat("not ", 100000) + "1 }}", "nested deeper than 200 levels"},
        Hostile{"signs", "{{ " + repeat("-", 100000) + "1 }}", "nested deeper than 200 levels"},
        Hostile{"sum_chain", "{{ 1" + repeat(" + 1", 100000) + " }}", "operations in one tag"},
        Hostile{"filter_chain", "{{ 1" + repeat(" | abs", 100000) + " }}", "operations in one tag"},
        Hostile{"attribute_chain", "{{ a" + repeat(".b", 100000) + " }}", "operations in one tag"},
        Hostile{"if_else_chain", "{{ 1" + repeat(" if 1 else 1", 100000) + " }}",
                "nested deeper than 200 levels"},
        Hostile{"blocks", repeat("{% if 1 %}", 100000), "nested deeper than 200 levels"},
        Hostile{"huge_template", repeat("x", (8 << 20) + 1), "a template has at most"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Limits, CyclicValuesPrintAsPythonDoes) {
  EXPECT_EQ(render({{"main", "{% set l = [1] %}{% set _ = l.append(l) %}{{ l }}"}}), "[1, [...]]");
}

TEST(Limits, AreOptions) {
  EngineOptions options;
  options.limits.steps = 50;
  EXPECT_NE(
      error_of({{"main", "{% for i in range(100) %}{% endfor %}"}}, {}, options).find("50 steps"),
      std::string::npos);
}

TEST(Limits, ReasonableRecursionFits) {
  EXPECT_EQ(render({{"main",
                     "{% macro m(k) %}{% if k %}{{ m(k - 1) }}{% else %}end{% endif %}{% endmacro "
                     "%}{{ m(150) }}"}}),
            "end");
}

}  // namespace
}  // namespace ffpa_jit::codegen

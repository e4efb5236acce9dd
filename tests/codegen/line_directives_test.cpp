// `#line` directives: a compiler that reads the output must name the template line of every line.
#include <sstream>

#include "codegen/engine_fixture.h"

namespace ffpa_jit::codegen {
namespace {

std::string with_lines(Templates templates, const Json& context = {}) {
  EngineOptions options;
  options.line_directives = true;
  return render(std::move(templates), context, options);
}

// Reads text as a compiler does: file and line of each line that is not a directive.
std::vector<std::string> places(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  std::string file = "?", line;
  int number = 0;
  while (std::getline(stream, line)) {
    if (line.starts_with("#line ")) {
      size_t quote = line.find('"');
      number = std::stoi(line.substr(6)) - 1;
      file = line.substr(quote + 1, line.rfind('"') - quote - 1);
      continue;
    }
    ++number;
    if (line.find_first_not_of(" \t") != std::string::npos) {
      result.push_back(file + ":" + std::to_string(number) + " " + line);
    }
  }
  return result;
}

using Lines = std::vector<std::string>;

TEST(LineDirectives, PlainTextNeedsOne) {
  EXPECT_EQ(with_lines({{"main", "a\nb\nc\n"}}), "#line 1 \"templates/main\"\na\nb\nc\n");
}

TEST(LineDirectives, SkippedLines) {
  EXPECT_EQ(with_lines({{"main", "a\n//% if true\nb\n//% endif\nc\n"}}),
            "#line 1 \"templates/main\"\na\n#line 3 \"templates/main\"\nb\n#line 5 "
            "\"templates/main\"\nc\n");
}

TEST(LineDirectives, Loop) {
  EXPECT_EQ(
      places(with_lines({{"main", "x\n//% for i in [1, 2]\na{{ i }};\nb;\n//% endfor\ny\n"}})),
      (Lines{"templates/main:1 x", "templates/main:3 a1;", "templates/main:4 b;",
             "templates/main:3 a2;", "templates/main:4 b;", "templates/main:6 y"}));
}

TEST(LineDirectives, Include) {
  EXPECT_EQ(
      places(with_lines({{"main", "x\n//% include 'b'\ny\n"}, {"b", "p\nq\n"}})),
      (Lines{"templates/main:1 x", "templates/b:1 p", "templates/b:2 q", "templates/main:3 y"}));
}

TEST(LineDirectives, MacroTextKeepsItsOwnLines) {
  EXPECT_EQ(places(with_lines(
                {{"main", "//% macro m(a)\n  p{{ a }};\n  q;\n//% endmacro\nx\n{{ m(1) }}y\n"}})),
            (Lines{"templates/main:5 x", "templates/main:2   p1;", "templates/main:3   q;",
                   "templates/main:6 y"}));
}

TEST(LineDirectives, IndentAndTrimKeepOrigins) {
  Templates templates{
      {"main", "//% macro m()\n\np;\nq;\n//% endmacro\n{{ m() | trim | indent(2) }}\nz\n"}};
  EXPECT_EQ(places(with_lines(templates)),
            (Lines{"templates/main:3 p;", "templates/main:4   q;", "templates/main:7 z"}));
}

TEST(LineDirectives, OtherFiltersFallBackToTheLineOfUse) {
  EXPECT_EQ(
      places(with_lines({{"main", "//% macro m()\np;\nq;\n//% endmacro\n{{ m() | upper }}z\n"}})),
      (Lines{"templates/main:5 P;", "templates/main:5 Q;", "templates/main:5 z"}));
}

TEST(LineDirectives, CallBlockAndSetBlock) {
  EXPECT_EQ(
      places(with_lines(
          {{"main",
            "//% macro m()\n{\n{{ caller() }}}\n//% endmacro\n//% call m()\nbody;\n//% endcall\n"
            "//% set t\nlate;\n//% endset\n{{ t }}end\n"}})),
      (Lines{"templates/main:2 {", "templates/main:6 body;", "templates/main:3 }",
             "templates/main:9 late;", "templates/main:11 end"}));
}

TEST(LineDirectives, ValueOfSeveralLinesBelongsToOneLine) {
  EXPECT_EQ(places(with_lines({{"main", "a\n{{ v }}\nb\n"}}, {{"v", "p\nq"}})),
            (Lines{"templates/main:1 a", "templates/main:2 p", "templates/main:2 q",
                   "templates/main:3 b"}));
}

TEST(LineDirectives, NothingComesInsideAContinuedLine) {
  std::string text =
      with_lines({{"main", "#define F(x) \\\n//% if true\n  (x) \\\n//% endif\n  + 1\nend\n"}});
  EXPECT_EQ(text,
            "#line 1 \"templates/main\"\n#define F(x) \\\n  (x) \\\n  + 1\n#line 6 "
            "\"templates/main\"\nend\n");
}

TEST(LineDirectives, BlankLinesNeedNone) {
  EXPECT_EQ(with_lines({{"main", "a\n\n{% set x = 1 %}\n\nb\n"}}),
            "#line 1 \"templates/main\"\na\n\n\n#line 5 \"templates/main\"\nb\n");
}

TEST(LineDirectives, WithoutThemTheTextIsUntouched) {
  Templates templates{{"main", "x\n//% for i in [1, 2]\na{{ i }};\n//% endfor\ny"}};
  std::string plain = render(templates), directed = with_lines(templates), kept;
  std::istringstream stream(directed);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("#line ")) kept += line + "\n";
  }
  EXPECT_EQ(plain + "\n", kept);
}

TEST(LineDirectives, EmptyOutput) { EXPECT_EQ(with_lines({{"main", "{% set x = 1 %}"}}), ""); }

}  // namespace
}  // namespace ffpa_jit::codegen

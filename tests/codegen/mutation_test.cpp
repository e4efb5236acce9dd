// The fuzz target on mutations of the corpus: a bounded run without libFuzzer, the same every time.
#include <fstream>
#include <random>

#include "codegen/engine_fixture.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern int64_t fuzz_template_rendered;

namespace ffpa_jit::codegen {
namespace {

std::vector<std::string> seeds() {
  std::ifstream file(FFPA_JIT_TEST_CASES);
  Json corpus = Json::parse(file);
  std::vector<std::string> result;
  for (const Json& entry : corpus["cases"]) {
    for (const auto& [name, text] : entry["templates"].items())
      result.push_back(text.get<std::string>());
  }
  return result;
}

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string next() {
    std::string text = pick(seeds_);
    for (size_t i = 0, count = 1 + random_() % 4; i < count; ++i) mutate(text);
    return text;
  }

 private:
  const std::string& pick(const std::vector<std::string>& from) {
    return from[random_() % from.size()];
  }
  size_t place(const std::string& text) { return text.empty() ? 0 : random_() % (text.size() + 1); }

  void mutate(std::string& text) {
    static const std::vector<std::string> pieces = {"{%",
                                                    "%}",
                                                    "{{",
                                                    "}}",
                                                    "{#",
                                                    "#}",
                                                    "\n//% ",
                                                    "-",
                                                    "+",
                                                    "(",
                                                    ")",
                                                    "[",
                                                    "]",
                                                    "{",
                                                    "}",
                                                    "'",
                                                    "\"",
                                                    "|",
                                                    ".",
                                                    ",",
                                                    "~",
                                                    " if ",
                                                    " else ",
                                                    " in ",
                                                    " is ",
                                                    " not ",
                                                    "for x in items",
                                                    "endfor",
                                                    "endif",
                                                    "set a = ",
                                                    "macro m()",
                                                    "endmacro",
                                                    "include 'part'",
                                                    "include 'main'",
                                                    "from 'lib' import f",
                                                    "loop",
                                                    "recursive",
                                                    "range(9)",
                                                    "**",
                                                    "//",
                                                    "\\",
                                                    "\xff",
                                                    "\xc3",
                                                    "\xf0\x9f\x98\x80",
                                                    "99999999999999999999",
                                                    "1e999",
                                                    "|list",
                                                    "|tojson",
                                                    "%s",
                                                    "namespace()",
                                                    "caller()"};
    size_t at = place(text);
    switch (random_() % 6) {
      case 0:
        text.insert(at, pick(pieces));
        break;
      case 1:
        text.erase(at, 1 + random_() % 8);
        break;
      case 2:
        text.insert(at, text.substr(place(text), random_() % 20));
        break;
      case 3:
        text = text.substr(0, at) + pick(seeds_);
        break;
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      default:
        text += pick(seeds_);
        break;
    }
  }

  std::vector<std::string> seeds_;
  std::mt19937 random_{20240229};
};

TEST(Mutations, OnlyTypedErrorsEscape) {
  Mutator mutator(seeds());
  constexpr int kInputs = 20'000;
  for (int i = 0; i < kInputs; ++i) {
    std::string text = mutator.next();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }
  EXPECT_GT(fuzz_template_rendered, kInputs / 20);
}

}  // namespace
}  // namespace ffpa_jit::codegen

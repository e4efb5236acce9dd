#include "codegen/lexer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "codegen/failure.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

constexpr std::string_view kLinePrefix = "//%";

struct Operator {
  std::string_view text;
  TokenKind kind;
};

// Longest first.
constexpr std::array kOperators = {
    Operator{"//", TokenKind::kFloorDiv},     Operator{"**", TokenKind::kPow},
    Operator{"==", TokenKind::kEqual},        Operator{"!=", TokenKind::kNotEqual},
    Operator{">=", TokenKind::kGreaterEqual}, Operator{"<=", TokenKind::kLessEqual},
    Operator{"+", TokenKind::kAdd},           Operator{"-", TokenKind::kSub},
    Operator{"/", TokenKind::kDiv},           Operator{"*", TokenKind::kMul},
    Operator{"%", TokenKind::kMod},           Operator{"~", TokenKind::kTilde},
    Operator{"[", TokenKind::kLeftBracket},   Operator{"]", TokenKind::kRightBracket},
    Operator{"(", TokenKind::kLeftParen},     Operator{")", TokenKind::kRightParen},
    Operator{"{", TokenKind::kLeftBrace},     Operator{"}", TokenKind::kRightBrace},
    Operator{">", TokenKind::kGreater},       Operator{"<", TokenKind::kLess},
    Operator{"=", TokenKind::kAssign},        Operator{".", TokenKind::kDot},
    Operator{":", TokenKind::kColon},         Operator{"|", TokenKind::kPipe},
    Operator{",", TokenKind::kComma},         Operator{";", TokenKind::kSemicolon},
};

bool is_digit_char(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_char(char c) { return is_name_start(c) || is_digit_char(c); }
bool is_base_digit(char c, int base) {
  if (c >= '0' && c <= '9') return c - '0' < base;
  char lower = static_cast<char>(c | 0x20);
  return base == 16 && lower >= 'a' && lower <= 'f';
}

std::string without_underscores(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c != '_') out += c;
  }
  return out;
}

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text()) {}

  std::vector<Token> run() {
    while (pos_ < text_.size()) template_text();
    push(TokenKind::kEnd, text_.size());
    return std::move(tokens_);
  }

 private:
  // What a tag is closed by: "%}", "}}", or the end of the line.
  enum class Tag { kBlock, kVariable, kLine };

  struct Opener {
    enum class Kind { kBlock, kVariable, kComment, kRaw, kLine } kind;
    size_t begin;  // of the tag (for a line statement: of its line)
    size_t end;
    char sign;  // '-', '+' or 0
  };

  [[noreturn]] void error(size_t offset, std::string_view message) {
    throw Error(FFPA_JIT_TEMPLATE_ERROR, describe_error(source_, offset, message));
  }

  Token& push(TokenKind kind, size_t offset) {
    tokens_.emplace_back();
    tokens_.back().kind = kind;
    tokens_.back().offset = static_cast<uint32_t>(offset);
    return tokens_.back();
  }

  bool at(size_t pos, std::string_view what) const { return text_.substr(pos).starts_with(what); }

  char sign_at(size_t pos) const {
    return pos < text_.size() && (text_[pos] == '-' || text_[pos] == '+') ? text_[pos] : '\0';
  }

  // ---- text between tags
  // -------------------------------------------------------------------------

  void template_text() {
    std::optional<Opener> opener = find_opener();
    size_t end = opener ? opener->begin : text_.size();
    push_data(pos_, end, opener ? &*opener : nullptr);
    if (!opener) {
      pos_ = end;
      return;
    }
    pos_ = opener->end;
    line_starting_ = text_[pos_ - 1] == '\n';
    switch (opener->kind) {
      case Opener::Kind::kComment:
        comment(opener->begin);
        break;
      case Opener::Kind::kRaw:
        raw(opener->begin);
        break;
      case Opener::Kind::kBlock:
        push(TokenKind::kBlockBegin, opener->begin);
        tag(Tag::kBlock);
        break;
      case Opener::Kind::kLine:
        push(TokenKind::kBlockBegin, text_.find(kLinePrefix, opener->begin));
        tag(Tag::kLine);
        break;
      case Opener::Kind::kVariable:
        push(TokenKind::kVariableBegin, opener->begin);
        tag(Tag::kVariable);
        break;
    }
  }

  std::optional<Opener> find_opener() const {
    for (size_t p = pos_; p < text_.size(); ++p) {
      if (p == 0 || text_[p - 1] == '\n') {
        size_t q = p;
        while (q < text_.size() && (text_[q] == ' ' || text_[q] == '\t' || text_[q] == '\v')) ++q;
        if (at(q, kLinePrefix)) {
          size_t end = q + kLinePrefix.size();
          char sign = sign_at(end);
          return Opener{Opener::Kind::kLine, p, end + (sign ? 1 : 0), sign};
        }
      }
      if (text_[p] != '{' || p + 1 >= text_.size()) continue;
      char second = text_[p + 1];
      if (second != '%' && second != '{' && second != '#') continue;
      char sign = sign_at(p + 2);
      size_t end = p + 2 + (sign ? 1 : 0);
      if (second == '{') return Opener{Opener::Kind::kVariable, p, end, sign};
      if (second == '#') return Opener{Opener::Kind::kComment, p, end, sign};
      if (size_t raw_end = end_of_raw_tag(end)) return Opener{Opener::Kind::kRaw, p, raw_end, sign};
      return Opener{Opener::Kind::kBlock, p, end, sign};
    }
    return std::nullopt;
  }

  // `raw %}` or `raw -%}` from `pos`: the offset after it, or 0. The newline after it stays.
  size_t end_of_raw_tag(size_t pos) const {
    size_t p = skip_space(text_, pos);
    if (!at(p, "raw")) return 0;
    p = skip_space(text_, p + 3);
    if (at(p, "-%}")) return skip_space(text_, p + 3);
    return at(p, "%}") ? p + 2 : 0;
  }

  void push_data(size_t begin, size_t end, const Opener* opener) {
    std::string_view data = text_.substr(begin, end - begin);
    if (opener) {
      if (opener->sign == '-') {
        data = data.substr(0, length_without_trailing_space(data));
      } else if (opener->sign != '+' && opener->kind != Opener::Kind::kVariable) {
        data = without_indentation(data);
      }
    }
    if (!data.empty()) push(TokenKind::kData, begin).text = data;
  }

  // lstrip_blocks: a tag alone at the start of its line takes the blanks before it.
  std::string_view without_indentation(std::string_view data) const {
    size_t newline = data.rfind('\n');
    if (newline == std::string_view::npos && !line_starting_) return data;
    size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    bool blank = line < data.size() && skip_space(data, line) == data.size();
    return blank ? data.substr(0, line) : data;
  }

  void comment(size_t begin) {
    size_t close = text_.find("#}", pos_);
    if (close == std::string_view::npos) {
      if (pos_ == text_.size()) return;  // Jinja2 lets an opening at the very end pass
      error(begin, "this comment is not closed by #}");
    }
    char sign = close > pos_ ? sign_at(close - 1) : '\0';
    finish_tag(close + 2, sign);
  }

  // After "%}" or "#}": `-` eats all whitespace, `+` nothing, otherwise one newline goes
  // (trim_blocks).
  void finish_tag(size_t end, char sign) {
    if (sign == '-') {
      end = skip_space(text_, end);
    } else if (sign != '+' && end < text_.size() && text_[end] == '\n') {
      ++end;
    }
    pos_ = end;
    line_starting_ = text_[end - 1] == '\n';
  }

  void raw(size_t begin) {
    for (size_t p = text_.find("{%", pos_); p != std::string_view::npos;
         p = text_.find("{%", p + 1)) {
      char open_sign = sign_at(p + 2);
      size_t q = skip_space(text_, p + 2 + (open_sign ? 1 : 0));
      if (!at(q, "endraw")) continue;
      q = skip_space(text_, q + 6);
      char sign = sign_at(q);
      if (!at(q + (sign ? 1 : 0), "%}")) continue;
      Opener end{Opener::Kind::kBlock, p, q, open_sign};
      push_data(pos_, p, &end);
      finish_tag(q + (sign ? 1 : 0) + 2, sign);
      return;
    }
    if (pos_ == text_.size()) return;
    error(begin, "this raw block is not closed by {% endraw %}");
  }

  // ---- inside tags
  // -------------------------------------------------------------------------------

  void tag(Tag kind) {
    size_t begin = pos_;
    brackets_.clear();
    for (;;) {
      if (brackets_.empty() && end_of_tag(kind)) return;
      if (pos_ >= text_.size()) error(begin, "this tag is not closed");
      size_t after_space = skip_space(text_, pos_);
      if (after_space > pos_) {
        pos_ = after_space;
        continue;
      }
      if (!number() && !name() && !string() && !symbol()) {
        size_t next = pos_;
        next_code_point(text_, next);
        error(pos_, fmt::format("unexpected character '{}'", text_.substr(pos_, next - pos_)));
      }
    }
  }

  bool end_of_tag(Tag kind) {
    if (kind == Tag::kLine) return end_of_line_statement();
    std::string_view close = kind == Tag::kBlock ? "%}" : "}}";
    char sign = sign_at(pos_);
    if (sign == '+' && kind == Tag::kVariable) return false;
    if (!at(pos_ + (sign ? 1 : 0), close)) return false;
    push(kind == Tag::kBlock ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, pos_);
    size_t end = pos_ + (sign ? 1 : 0) + 2;
    if (kind == Tag::kBlock) {
      finish_tag(end, sign);
    } else {
      pos_ = sign == '-' ? skip_space(text_, end) : end;
      line_starting_ = text_[pos_ - 1] == '\n';
    }
    return true;
  }

  // A line statement ends with its line and takes the blank lines that follow.
  bool end_of_line_statement() {
    size_t blank_end = skip_space(text_, pos_);
    size_t end;
    if (blank_end == text_.size()) {
      end = blank_end;
    } else {
      size_t newline = text_.substr(pos_, blank_end - pos_).rfind('\n');
      if (newline == std::string_view::npos) return false;
      end = pos_ + newline + 1;
    }
    push(TokenKind::kBlockEnd, pos_);
    line_starting_ = end > pos_ && text_[end - 1] == '\n';
    pos_ = end;
    return true;
  }

  // Digits with single underscores between them, from `p`; returns the offset after them (p if
  // there are none).
  size_t skip_digits(size_t p) const {
    if (p >= text_.size() || !is_digit_char(text_[p])) return p;
    while (p < text_.size()) {
      if (is_digit_char(text_[p])) {
        ++p;
      } else if (text_[p] == '_' && p + 1 < text_.size() && is_digit_char(text_[p + 1])) {
        p += 2;
      } else {
        break;
      }
    }
    return p;
  }

  bool number() {
    if (!is_digit_char(text_[pos_])) return false;
    if (pos_ == 0 || text_[pos_ - 1] != '.') {
      if (size_t end = end_of_float()) {
        std::string digits = without_underscores(text_.substr(pos_, end - pos_));
        Token& token = push(TokenKind::kFloat, pos_);
        token.number = parse_double(digits);
        pos_ = end;
        return true;
      }
    }
    integer();
    return true;
  }

  size_t end_of_float() const {
    size_t whole = skip_digits(pos_);
    size_t p = whole;
    bool fraction = false;
    if (p + 1 < text_.size() && text_[p] == '.' && is_digit_char(text_[p + 1])) {
      p = skip_digits(p + 1);
      fraction = true;
    }
    if (p < text_.size() && (text_[p] == 'e' || text_[p] == 'E')) {
      size_t q = p + 1;
      if (sign_at(q)) ++q;
      if (q < text_.size() && is_digit_char(text_[q])) return skip_digits(q);
    }
    return fraction ? p : 0;
  }

  static double parse_double(const std::string& digits) {
    double value = 0;
    auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (result.ec == std::errc::result_out_of_range) {
      // from_chars leaves the value alone; the exponent's sign says which way it went.
      size_t e = digits.find_first_of("eE");
      bool tiny = e != std::string::npos && digits[e + 1] == '-';
      return tiny ? 0.0 : HUGE_VAL;
    }
    return value;
  }

  void integer() {
    int base = 10;
    size_t digits = pos_, end;
    if (text_[pos_] == '0' && pos_ + 1 < text_.size()) {
      char prefix = static_cast<char>(text_[pos_ + 1] | 0x20);
      int wanted = prefix == 'b' ? 2 : prefix == 'o' ? 8 : prefix == 'x' ? 16 : 0;
      size_t first = pos_ + 2;
      if (first < text_.size() && text_[first] == '_') ++first;
      if (wanted && first < text_.size() && is_base_digit(text_[first], wanted)) {
        base = wanted;
        digits = first;
      }
    }
    end = digits;
    bool zeros_only =
        base == 10 && text_[digits] == '0';  // 0, 00, 0_0: anything else starts a new token
    auto accepts = [&](char c) { return zeros_only ? c == '0' : is_base_digit(c, base); };
    while (end < text_.size()) {
      if (accepts(text_[end])) {
        ++end;
      } else if (text_[end] == '_' && end + 1 < text_.size() && accepts(text_[end + 1])) {
        end += 2;
      } else {
        break;
      }
    }
    std::string plain = without_underscores(text_.substr(digits, end - digits));
    Token& token = push(TokenKind::kInteger, pos_);
    auto result = std::from_chars(plain.data(), plain.data() + plain.size(), token.integer, base);
    if (result.ec != std::errc()) error(pos_, "this integer does not fit in 64 bits");
    pos_ = end;
  }

  bool name() {
    if (!is_name_start(text_[pos_])) return false;
    size_t end = pos_;
    while (end < text_.size() && is_name_char(text_[end])) ++end;
    push(TokenKind::kName, pos_).text = text_.substr(pos_, end - pos_);
    pos_ = end;
    return true;
  }

  bool string() {
    char quote = text_[pos_];
    if (quote != '"' && quote != '\'') return false;
    size_t end = pos_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) error(pos_, "this string is not closed");
    try {
      std::string value = unescape(text_.substr(pos_ + 1, end - pos_ - 1));
      push(TokenKind::kString, pos_).text = std::move(value);
    } catch (const Failure& failure) {
      error(pos_, failure.what());
    }
    pos_ = end + 1;
    return true;
  }

  bool symbol() {
    for (const Operator& op : kOperators) {
      if (!at(pos_, op.text)) continue;
      balance(op.text[0]);
      push(op.kind, pos_);
      pos_ += op.text.size();
      return true;
    }
    return false;
  }

  void balance(char c) {
    switch (c) {
      case '{':
        brackets_.push_back('}');
        return;
      case '(':
        brackets_.push_back(')');
        return;
      case '[':
        brackets_.push_back(']');
        return;
      case '}':
      case ')':
      case ']':
        if (brackets_.empty()) error(pos_, fmt::format("unexpected '{}'", c));
        if (brackets_.back() != c) {
          error(pos_, fmt::format("unexpected '{}', expected '{}'", c, brackets_.back()));
        }
        brackets_.pop_back();
        return;
      default:
        return;
    }
  }

  const Source& source_;
  std::string_view text_;
  size_t pos_ = 0;
  bool line_starting_ = true;   // the last tag ended with a newline
  std::vector<char> brackets_;  // closers owed inside the current tag; no tag ends before they came
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const Source& source) { return Lexer(source).run(); }

}  // namespace ffpa_jit::codegen

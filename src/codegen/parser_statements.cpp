// Statements: one function per tag.
#include <array>

#include "codegen/parser.h"

namespace ffpa_jit::codegen {
namespace {

// Tags of Jinja2 that this subset leaves out, and what to use instead.
struct UnsupportedTag {
  std::string_view name;
  std::string_view instead;
};
constexpr std::array kUnsupportedTags = {
    UnsupportedTag{"extends", "template inheritance; use include, import and macros"},
    UnsupportedTag{"block", "template inheritance; use include, import and macros"},
    UnsupportedTag{"autoescape", "HTML escaping; generated source is never escaped"},
    UnsupportedTag{"do", "an extension; use {% set _ = ... %}"},
    UnsupportedTag{"continue", "an extension; use {% if %} in the loop"},
    UnsupportedTag{"break", "an extension; use a loop filter: {% for x in xs if ... %}"},
    UnsupportedTag{"trans", "an extension"},
    UnsupportedTag{"debug", "an extension"},
};

std::string join_tags(const std::vector<std::string_view>& tags) {
  std::string out;
  for (std::string_view tag : tags) {
    if (!out.empty()) out += " or ";
    out += fmt::format("'{}'", tag);
  }
  return out;
}

}  // namespace

Body Parser::parse_body(const EndTags* end_tags) {
  Depth depth(*this);
  Body body;
  std::unique_ptr<OutputStmt> output;
  auto output_part = [&](uint32_t offset) -> OutputStmt::Part& {
    if (!output) output = std::make_unique<OutputStmt>(offset);
    output->parts.push_back({result_.source.line_of(offset), {}, nullptr});
    return output->parts.back();
  };
  auto flush = [&] {
    if (output) body.push_back(std::move(output));
  };
  for (;;) {
    const Token& token = current();
    links_ = 0;
    switch (token.kind) {
      case TokenKind::kData:
        output_part(token.offset).data = token.text;
        take();
        break;
      case TokenKind::kVariableBegin:
        take();
        output_part(current().offset).expr = parse_tuple({});
        expect(TokenKind::kVariableEnd);
        break;
      case TokenKind::kBlockBegin: {
        flush();
        take();
        if (end_tags) {
          for (std::string_view tag : *end_tags) {
            if (current().is_name(tag)) return body;
          }
        }
        if (!current().is(TokenKind::kName)) error("expected the name of a tag");
        StmtPtr statement;
        open_tags_.push_back(current().text);
        statement = parse_statement();
        if (!statement) {
          open_tags_.pop_back();
          unknown_tag(current(), end_tags);
        }
        open_tags_.pop_back();
        body.push_back(std::move(statement));
        expect(TokenKind::kBlockEnd);
        break;
      }
      default:
        flush();
        if (!end_tags) return body;
        error(fmt::format("unexpected end of template; looking for {}, to close '{}'",
                          join_tags(*end_tags), open_tags_.empty() ? "" : open_tags_.back()));
    }
  }
}

Body Parser::parse_block(const EndTags& end_tags, std::string* ended_by) {
  take_if(TokenKind::kColon);  // as in Python, a colon may end the tag
  expect(TokenKind::kBlockEnd);
  Body body = parse_body(&end_tags);
  const Token& end = take();
  if (ended_by) *ended_by = end.text;
  return body;
}

StmtPtr Parser::parse_statement() {
  const std::string& tag = current().text;
  uint32_t offset = current().offset;
  using Method = StmtPtr (Parser::*)(uint32_t);
  struct Entry {
    std::string_view tag;
    Method method;
  };
  static constexpr std::array kStatements = {
      Entry{"for", &Parser::parse_for},         Entry{"if", &Parser::parse_if},
      Entry{"set", &Parser::parse_set},         Entry{"macro", &Parser::parse_macro},
      Entry{"call", &Parser::parse_call_block}, Entry{"filter", &Parser::parse_filter_block},
      Entry{"with", &Parser::parse_with},       Entry{"include", &Parser::parse_include},
      Entry{"import", &Parser::parse_import},   Entry{"from", &Parser::parse_from},
      Entry{"print", &Parser::parse_print},
  };
  for (const Entry& entry : kStatements) {
    if (tag != entry.tag) continue;
    take();
    return (this->*entry.method)(offset);
  }
  return nullptr;
}

void Parser::unknown_tag(const Token& tag, const EndTags* end_tags) {
  for (const UnsupportedTag& unsupported : kUnsupportedTags) {
    if (tag.text == unsupported.name) {
      error(fmt::format("'{}' is outside the supported subset of Jinja2 ({})", tag.text,
                        unsupported.instead));
    }
  }
  std::string message = fmt::format("unknown tag '{}'", tag.text);
  if (end_tags) message += fmt::format("; looking for {}", join_tags(*end_tags));
  if (!open_tags_.empty()) message += fmt::format(", to close '{}'", open_tags_.back());
  error(message);
}

StmtPtr Parser::parse_for(uint32_t offset) {
  auto loop = std::make_unique<ForStmt>(offset);
  loop->target = parse_target(false, "in");
  expect_name("in");
  loop->iterable = parse_tuple({.with_condition = false, .end_name = "recursive"});
  if (take_if_name("if")) loop->filter = parse_expression();
  loop->recursive = take_if_name("recursive");
  std::string ended_by;
  loop->body = parse_block({"endfor", "else"}, &ended_by);
  if (ended_by == "else") loop->otherwise = parse_block({"endfor"});
  return loop;
}

StmtPtr Parser::parse_if(uint32_t offset) {
  auto result = std::make_unique<IfStmt>(offset);
  std::string ended_by;
  do {
    IfStmt::Branch branch;
    branch.test = parse_tuple({.with_condition = false});
    branch.body = parse_block({"elif", "else", "endif"}, &ended_by);
    result->branches.push_back(std::move(branch));
  } while (ended_by == "elif");
  if (ended_by == "else") result->otherwise = parse_block({"endif"});
  return result;
}

StmtPtr Parser::parse_set(uint32_t offset) {
  ExprPtr target = parse_target(true);
  if (take_if(TokenKind::kAssign)) {
    auto set = std::make_unique<SetStmt>(offset);
    set->target = std::move(target);
    set->value = parse_tuple({});
    return set;
  }
  auto set = std::make_unique<SetBlockStmt>(offset);
  set->target = std::move(target);
  set->filter = parse_filter_chain(nullptr, false);
  set->body = parse_block({"endset"});
  return set;
}

void Parser::parse_signature(MacroDefinition& macro) {
  expect(TokenKind::kLeftParen);
  while (!current().is(TokenKind::kRightParen)) {
    if (!macro.parameters.empty()) expect(TokenKind::kComma);
    uint32_t offset = current().offset;
    auto parameter = std::make_unique<NameExpr>(offset, parse_name());
    parameter->use = NameExpr::Use::kParameter;
    for (const auto& other : macro.parameters) {
      if (other->name->text == parameter->name->text) {
        error(offset, fmt::format("parameter '{}' appears twice", other->name->text));
      }
    }
    if (take_if(TokenKind::kAssign)) {
      macro.defaults.push_back(parse_expression());
    } else if (!macro.defaults.empty()) {
      error("a parameter without a default follows one with a default");
    }
    macro.parameters.push_back(std::move(parameter));
  }
  expect(TokenKind::kRightParen);
}

StmtPtr Parser::parse_macro(uint32_t offset) {
  auto result = std::make_unique<MacroStmt>(offset);
  result->macro.offset = offset;
  result->macro.name = parse_name();
  parse_signature(result->macro);
  result->macro.body = parse_block({"endmacro"});
  return result;
}

StmtPtr Parser::parse_call_block(uint32_t offset) {
  auto result = std::make_unique<CallBlockStmt>(offset);
  result->caller.offset = offset;
  if (current().is(TokenKind::kLeftParen)) parse_signature(result->caller);
  ExprPtr call = parse_expression();
  if (call->kind != ExprKind::kCall) error(offset, "expected a call");
  result->call.reset(static_cast<CallExpr*>(call.release()));
  result->caller.body = parse_block({"endcall"});
  return result;
}

StmtPtr Parser::parse_filter_block(uint32_t offset) {
  auto result = std::make_unique<FilterBlockStmt>(offset);
  result->filter = parse_filter_chain(nullptr, true);
  result->body = parse_block({"endfilter"});
  return result;
}

StmtPtr Parser::parse_with(uint32_t offset) {
  auto result = std::make_unique<WithStmt>(offset);
  while (!current().is(TokenKind::kBlockEnd)) {
    if (!result->targets.empty()) expect(TokenKind::kComma);
    ExprPtr target = parse_target(false);
    make_target(*target, NameExpr::Use::kParameter);
    result->targets.push_back(std::move(target));
    expect(TokenKind::kAssign);
    result->values.push_back(parse_expression());
  }
  result->body = parse_block({"endwith"});
  return result;
}

bool Parser::parse_context_clause(bool& with_context) {
  if (!(current().is_name("with") || current().is_name("without")) ||
      !look_ahead().is_name("context")) {
    return false;
  }
  with_context = take().text == "with";
  take();
  return true;
}

StmtPtr Parser::parse_include(uint32_t offset) {
  auto result = std::make_unique<IncludeStmt>(offset);
  result->name = parse_expression();
  if (current().is_name("ignore") && look_ahead().is_name("missing")) {
    take();
    take();
    result->ignore_missing = true;
  }
  parse_context_clause(result->with_context);
  return result;
}

StmtPtr Parser::parse_import(uint32_t offset) {
  auto result = std::make_unique<ImportStmt>(offset);
  result->name = parse_expression();
  expect_name("as");
  result->target = parse_name();
  parse_context_clause(result->with_context);
  return result;
}

StmtPtr Parser::parse_from(uint32_t offset) {
  auto result = std::make_unique<FromImportStmt>(offset);
  result->name = parse_expression();
  expect_name("import");
  for (;;) {
    if (!result->items.empty()) expect(TokenKind::kComma);
    if (!current().is(TokenKind::kName))
      error("expected the name of an exported macro or variable");
    if (parse_context_clause(result->with_context)) break;
    uint32_t name_offset = current().offset;
    const String* name = parse_name();
    if (name->text.starts_with('_')) {
      error(name_offset, "names starting with an underline cannot be imported");
    }
    const String* alias = take_if_name("as") ? parse_name() : name;
    result->items.push_back({name, alias, {}});
    if (parse_context_clause(result->with_context) || !current().is(TokenKind::kComma)) break;
  }
  return result;
}

StmtPtr Parser::parse_print(uint32_t offset) {
  auto result = std::make_unique<OutputStmt>(offset);
  while (!current().is(TokenKind::kBlockEnd)) {
    if (!result->parts.empty()) expect(TokenKind::kComma);
    uint32_t line = result_.source.line_of(current().offset);
    result->parts.push_back({line, {}, parse_expression()});
  }
  return result;
}

// ---- targets
// -------------------------------------------------------------------------------------

const String* Parser::parse_name() {
  const Token& token = expect(TokenKind::kName);
  if (token.text == "true" || token.text == "false" || token.text == "none" ||
      token.text == "True" || token.text == "False" || token.text == "None") {
    error(token.offset, fmt::format("cannot assign to '{}'", token.text));
  }
  return intern(token.text);
}

ExprPtr Parser::parse_target(bool namespace_allowed, std::string_view end_name) {
  ExprPtr target =
      parse_tuple({.targets = true, .namespace_allowed = namespace_allowed, .end_name = end_name});
  make_target(*target, NameExpr::Use::kStore);
  return target;
}

void Parser::make_target(Expr& expr, NameExpr::Use use) {
  switch (expr.kind) {
    case ExprKind::kName:
      static_cast<NameExpr&>(expr).use = use;
      return;
    case ExprKind::kNamespaceRef:
      return;
    case ExprKind::kTuple:
      for (ExprPtr& item : static_cast<SequenceExpr&>(expr).items) make_target(*item, use);
      return;
    default:
      error(expr.offset, "cannot assign to this expression");
  }
}

}  // namespace ffpa_jit::codegen

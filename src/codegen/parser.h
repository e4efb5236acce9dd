// Parser: tokens -> syntax tree, by recursive descent over Jinja2's grammar. Expressions are in
// parser_expressions.cpp and parser_postfix.cpp, statements in parser_statements.cpp.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <vector>

#include "codegen/ast.h"
#include "codegen/token.h"

namespace ffpa_jit::codegen {

// Parses and resolves scopes. Throws ffpa_jit::Error TEMPLATE_ERROR with the place.
std::shared_ptr<const Template> parse_template(std::string name, std::string_view text,
                                               const Limits& limits);

class Parser {
 public:
  explicit Parser(Template& result);
  Body parse();

 private:
  using EndTags = std::vector<std::string_view>;

  // ---- statements
  Body parse_body(const EndTags* end_tags);
  // The body after a tag's end, up to one of `end_tags`; consumes that tag's name and returns it in
  // `ended_by`.
  Body parse_block(const EndTags& end_tags, std::string* ended_by = nullptr);
  StmtPtr parse_statement();
  StmtPtr parse_for(uint32_t offset);
  StmtPtr parse_if(uint32_t offset);
  StmtPtr parse_set(uint32_t offset);
  StmtPtr parse_macro(uint32_t offset);
  StmtPtr parse_call_block(uint32_t offset);
  StmtPtr parse_filter_block(uint32_t offset);
  StmtPtr parse_with(uint32_t offset);
  StmtPtr parse_include(uint32_t offset);
  StmtPtr parse_import(uint32_t offset);
  StmtPtr parse_from(uint32_t offset);
  StmtPtr parse_print(uint32_t offset);
  void parse_signature(MacroDefinition& macro);
  bool parse_context_clause(bool& with_context);
  [[noreturn]] void unknown_tag(const Token& tag, const EndTags* end_tags);

  // ---- targets of assignments
  ExprPtr parse_target(bool namespace_allowed, std::string_view end_name = {});
  const String* parse_name();
  void make_target(Expr& expr, NameExpr::Use use);

  // ---- expressions, loosest binding first
  ExprPtr parse_expression(bool with_condition = true);
  struct TupleRules {
    bool targets = false;            // only names and literals
    bool namespace_allowed = false;  // `a.b` as a target
    bool with_condition = true;
    bool parenthesised = false;      // () is the empty tuple
    std::string_view end_name = {};  // a name that ends the tuple: `in`, `recursive`
  };
  ExprPtr parse_tuple(const TupleRules& rules);
  ExprPtr parse_condition();
  ExprPtr parse_or();
  ExprPtr parse_and();
  ExprPtr parse_not();
  ExprPtr parse_compare();
  ExprPtr parse_sum();
  ExprPtr parse_concat();
  ExprPtr parse_product();
  ExprPtr parse_power();
  ExprPtr parse_unary(bool with_filter = true);
  ExprPtr parse_primary(bool namespace_allowed = false);
  ExprPtr parse_list();
  ExprPtr parse_dict();
  ExprPtr parse_postfix(ExprPtr expr);
  ExprPtr parse_filters_and_tests(ExprPtr expr);
  ExprPtr parse_subscript(ExprPtr object);
  ExprPtr parse_subscript_item();
  Arguments parse_arguments();
  ExprPtr parse_call(ExprPtr callee);
  ExprPtr parse_filter_chain(ExprPtr input, bool first_is_bare);
  ExprPtr parse_test(ExprPtr input);
  std::string parse_dotted_name();

  // ---- tokens
  const Token& current() const { return tokens_[position_]; }
  const Token& look_ahead() const;
  const Token& take();
  bool take_if(TokenKind kind);
  bool take_if_name(std::string_view name);
  const Token& expect(TokenKind kind);
  void expect_name(std::string_view name);
  const String* intern(const std::string& text) { return result_.constants.string(text); }
  [[noreturn]] void error(const std::string& message) const { error(current().offset, message); }
  [[noreturn]] void error(uint32_t offset, const std::string& message) const;

  // Counts one more operator, call, filter or subscript in this tag. Chains of them make deep
  // trees, which are walked (and destroyed) by recursion.
  void add_link();
  // Counts nested syntax; throws when a template nests too deep for the stack.
  class Depth {
   public:
    explicit Depth(Parser& parser);
    ~Depth() { --parser_.depth_; }

   private:
    Parser& parser_;
  };

  Template& result_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
  size_t depth_ = 0;
  size_t links_ = 0;
  std::vector<std::string> open_tags_;  // for messages
};

}  // namespace ffpa_jit::codegen

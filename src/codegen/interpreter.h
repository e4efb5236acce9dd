// Interpreter: runs one render over syntax trees. Statements are in interpreter_statements.cpp,
// calls, macros and imports in interpreter_calls.cpp, expressions in interpreter.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/arguments.h"
#include "codegen/ast.h"
#include "codegen/failure.h"
#include "codegen/heap.h"
#include "codegen/interpreter_objects.h"
#include "codegen/output.h"

namespace ffpa_jit::codegen {

class Interpreter {
 public:
  // Finds and parses a template; nullptr when there is none of that name. Throws ffpa_jit::Error
  // when it is wrong.
  using Loader = std::function<std::shared_ptr<const Template>(std::string_view name)>;

  Interpreter(const Limits& limits, bool line_directives, Loader loader);

  // The whole job: the text of `main` with `context`. Throws ffpa_jit::Error TEMPLATE_ERROR.
  std::string render(std::shared_ptr<const Template> main, const nlohmann::ordered_json& context);

  Heap& heap() { return heap_; }
  Value call(const Value& callee, CallArguments& arguments);

 private:
  struct CallSite;

  // ---- expressions
  Value evaluate(const Expr& expr);
  Value evaluate_here(const Expr& expr);
  Value load(const NameExpr& name);
  Value binary_operation(const BinaryExpr& expr);
  Value compare_chain(const CompareExpr& expr);
  Value subscript(const SubscriptExpr& expr);
  Value apply(const FilterExpr& expr, const Value& input);
  Value filter_captured(const Expr& chain, const Value& captured);
  CallArguments evaluate_arguments(const Arguments& arguments);
  Value evaluate_call(const CallExpr& expr, const Value* caller);

  // ---- statements
  void run(const Body& body);
  void run(const Stmt& stmt);
  void run_here(const Stmt& stmt);
  void output(const OutputStmt& stmt);
  void print(const Value& value, const Template& source, uint32_t line);
  void write_raw(const Value& value, uint32_t offset);
  void run_for(const ForStmt& loop);
  void run_loop(const ForStmt& loop, const Value& iterable, int64_t depth);
  Value filtered_items(const ForStmt& loop, const Value& iterable);
  void run_set_block(const SetBlockStmt& set);
  void run_with(const WithStmt& with);
  void run_include(const IncludeStmt& include);
  void run_import(const ImportStmt& import);
  void run_from_import(const FromImportStmt& import);
  void assign(const Expr& target, const Value& value);
  void assign_filter_target(const Expr& target, const Value& value);
  Value rebuild_filter_target(const Expr& target);
  void check_namespaces(const Expr& target);
  void export_names(const std::vector<NamedRef>& names);
  const String* capture(const std::function<void()>& body);

  // ---- scopes
  Value& slot(const VariableRef& ref);
  void enter(const Scope& scope);
  void leave(const Scope& scope);

  // ---- calls, macros, other templates
  Value make_macro(const MacroDefinition& definition);
  Value call_macro(const Macro& macro, CallArguments& arguments);
  Value call_loop(Loop& loop, const CallArguments& arguments);
  const Template* find_template(const Value& name, bool ignore_missing, const CallSite& site);
  const Template* load_template(std::string_view name, const CallSite& site);
  std::shared_ptr<const Names> visible_names(const std::vector<NamedRef>& locals);
  void run_template(const Template& source, Context& context, Output& output);
  Module* make_module(const Template& source, std::shared_ptr<const Names> given);
  Module* import_module(const Expr& name, bool with_context, const std::vector<NamedRef>& locals);
  Module* default_module(const Template& source);

  // ---- errors
  [[noreturn]] void raise(uint32_t offset, std::string_view message) const;
  void blame_undefined(const Value& left, const Expr& left_expr, const Value& right,
                       const Expr& right_expr, const Failure& failure) const;
  // "included from ...", one line for each template text that control is inside of.
  std::string call_chain() const;

  // Enters a macro, an include or an import: counts depth and remembers the place for messages.
  class Frame;
  // Counts one nested evaluation.
  class Depth;

  Heap heap_;
  bool line_directives_;
  Loader loader_;
  std::shared_ptr<const Names> globals_;
  std::vector<std::shared_ptr<const Template>>
      templates_;  // everything this render uses stays alive
  std::map<std::string, const Template*, std::less<>> loaded_;
  std::map<const Template*, Module*> modules_;  // imported without context: run once per render
  Activation* activation_ = nullptr;
  const Template* source_ = nullptr;  // the template that the running code is written in
  Output* output_ = nullptr;
  std::vector<CallSite> call_sites_;
  size_t depth_ = 0;
};

// Where control went from one template text into another.
struct Interpreter::CallSite {
  const Template* source;
  uint32_t offset;
  std::string what;  // "included", "imported", "macro 'x' called"
};

class Interpreter::Depth {
 public:
  explicit Depth(Interpreter& interpreter);
  ~Depth() { --interpreter_.depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  Interpreter& interpreter_;
};

// Runs code of another function or template, and comes back.
class Interpreter::Frame {
 public:
  Frame(Interpreter& interpreter, Activation* activation, const Template* source, Output* output);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

 private:
  Interpreter& interpreter_;
  Activation* activation_;
  const Template* source_;
  Output* output_;
};

// "\nincluded from templates/x.j2:7"
std::string describe_call_site(std::string_view what, const Source& source, uint32_t offset);

// A JSON value as a template value. Throws Failure for text that is not UTF-8 and integers beyond
// 64 bits.
Value value_of_json(Heap& heap, const nlohmann::ordered_json& json, size_t depth = 0);

}  // namespace ffpa_jit::codegen

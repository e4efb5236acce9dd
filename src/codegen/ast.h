// The syntax tree of a template. The parser builds it; resolve_scopes() (scope.h) then replaces
// names by variable slots; the interpreter only reads it, so one tree serves any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/heap.h"
#include "codegen/source.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

struct FilterEntry;
struct TestEntry;

// ---- variables (filled by scope.cpp)
// -------------------------------------------------------------

// A variable: `slot` of the activation `hops` functions out from the running one.
struct VariableRef {
  static constexpr uint16_t kUnresolved = 0xFFFF;
  uint16_t hops = kUnresolved;
  uint32_t slot = 0;
  bool resolved() const { return hops != kUnresolved; }
};

// What happens to one variable when its scope is entered.
struct VariableLoad {
  enum class Kind : uint8_t {
    kParameter,  // set by the statement that owns the scope
    kContext,    // looked up by name in the context
    kAlias,      // starts as a copy of an outer variable
    kUndefined   // starts undefined
  };
  Kind kind = Kind::kParameter;
  uint32_t slot = 0;
  const String* name = nullptr;
  VariableRef source;
};

struct Scope {
  std::vector<VariableLoad> loads;
};

// A body that runs with its own variables: a template, a macro, a recursive loop, a loop filter.
struct FunctionLayout {
  uint32_t slot_count = 0;
};

struct NamedRef {
  const String* name = nullptr;
  VariableRef ref;
};

// ---- expressions
// ---------------------------------------------------------------------------------

enum class ExprKind : uint8_t {
  kConst,
  kName,
  kNamespaceRef,
  kTuple,
  kList,
  kDict,
  kUnary,
  kBinary,
  kLogical,
  kCompare,
  kConcat,
  kCondition,
  kAttribute,
  kSubscript,
  kSlice,
  kFilter,
  kTest,
  kCall
};

struct Expr {
  Expr(ExprKind k, uint32_t o) : kind(k), offset(o) {}
  virtual ~Expr() = default;
  ExprKind kind;
  uint32_t offset;  // in the source
};
using ExprPtr = std::unique_ptr<Expr>;

struct ConstExpr : Expr {
  ConstExpr(uint32_t o, Value v) : Expr(ExprKind::kConst, o), value(v) {}
  Value value;
};

struct NameExpr : Expr {
  enum class Use : uint8_t { kLoad, kStore, kParameter };
  NameExpr(uint32_t o, const String* n) : Expr(ExprKind::kName, o), name(n) {}
  const String* name;
  Use use = Use::kLoad;
  VariableRef ref;
  VariableRef filter_ref;  // of a loop target: the same variable inside the loop's `if` filter
};

// `ns.attr` as the target of a set.
struct NamespaceRefExpr : Expr {
  NamespaceRefExpr(uint32_t o, const String* n, const String* a)
      : Expr(ExprKind::kNamespaceRef, o), name(n), attribute(a) {}
  const String* name;
  const String* attribute;
  VariableRef ref;
};

struct SequenceExpr : Expr {  // kTuple or kList
  using Expr::Expr;
  std::vector<ExprPtr> items;
};

struct DictExpr : Expr {
  explicit DictExpr(uint32_t o) : Expr(ExprKind::kDict, o) {}
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
};

enum class UnaryOp : uint8_t { kNegate, kPlus, kNot };

struct UnaryExpr : Expr {
  UnaryExpr(uint32_t o, UnaryOp p, ExprPtr e)
      : Expr(ExprKind::kUnary, o), op(p), operand(std::move(e)) {}
  UnaryOp op;
  ExprPtr operand;
};

enum class BinaryOp : uint8_t { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };

struct BinaryExpr : Expr {
  BinaryExpr(uint32_t o, BinaryOp p, ExprPtr l, ExprPtr r)
      : Expr(ExprKind::kBinary, o), op(p), left(std::move(l)), right(std::move(r)) {}
  BinaryOp op;
  ExprPtr left, right;
};

struct LogicalExpr : Expr {
  LogicalExpr(uint32_t o, bool a, ExprPtr l, ExprPtr r)
      : Expr(ExprKind::kLogical, o), is_and(a), left(std::move(l)), right(std::move(r)) {}
  bool is_and;
  ExprPtr left, right;
};

enum class CompareOp : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

struct CompareExpr : Expr {
  explicit CompareExpr(uint32_t o) : Expr(ExprKind::kCompare, o) {}
  ExprPtr first;
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
};

struct ConcatExpr : Expr {
  explicit ConcatExpr(uint32_t o) : Expr(ExprKind::kConcat, o) {}
  std::vector<ExprPtr> items;
};

struct ConditionExpr : Expr {
  explicit ConditionExpr(uint32_t o) : Expr(ExprKind::kCondition, o) {}
  ExprPtr test, then, otherwise;  // `otherwise` may be null
};

struct AttributeExpr : Expr {
  AttributeExpr(uint32_t o, ExprPtr e, const String* n)
      : Expr(ExprKind::kAttribute, o), object(std::move(e)), name(n) {}
  ExprPtr object;
  const String* name;
};

struct SubscriptExpr : Expr {
  SubscriptExpr(uint32_t o, ExprPtr e, ExprPtr i)
      : Expr(ExprKind::kSubscript, o), object(std::move(e)), index(std::move(i)) {}
  ExprPtr object, index;  // `index` may be a SliceExpr
};

struct SliceExpr : Expr {
  explicit SliceExpr(uint32_t o) : Expr(ExprKind::kSlice, o) {}
  ExprPtr start, stop, step;  // each may be null
};

struct Arguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<const String*, ExprPtr>> keyword;
  ExprPtr star, star_star;  // *args, **kwargs; may be null
};

struct FilterExpr : Expr {
  explicit FilterExpr(uint32_t o) : Expr(ExprKind::kFilter, o) {}
  ExprPtr input;  // null: the text that a filter block or set block captured
  std::string name;
  const FilterEntry* filter = nullptr;  // null: unknown; an error when it runs
  Arguments arguments;
};

struct TestExpr : Expr {
  explicit TestExpr(uint32_t o) : Expr(ExprKind::kTest, o) {}
  ExprPtr input;
  std::string name;
  const TestEntry* test = nullptr;
  Arguments arguments;
};

struct CallExpr : Expr {
  explicit CallExpr(uint32_t o) : Expr(ExprKind::kCall, o) {}
  ExprPtr callee;
  Arguments arguments;
};

// ---- statements
// ----------------------------------------------------------------------------------

enum class StmtKind : uint8_t {
  kOutput,
  kFor,
  kIf,
  kSet,
  kSetBlock,
  kMacro,
  kCallBlock,
  kFilterBlock,
  kWith,
  kInclude,
  kImport,
  kFromImport
};

struct Stmt {
  Stmt(StmtKind k, uint32_t o) : kind(k), offset(o) {}
  virtual ~Stmt() = default;
  StmtKind kind;
  uint32_t offset;
};
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

struct OutputStmt : Stmt {
  struct Part {
    uint32_t line;     // where the text or the expression begins
    std::string data;  // template text, if there is no expression
    ExprPtr expr;
  };
  explicit OutputStmt(uint32_t o) : Stmt(StmtKind::kOutput, o) {}
  std::vector<Part> parts;
};

struct ForStmt : Stmt {
  explicit ForStmt(uint32_t o) : Stmt(StmtKind::kFor, o) {}
  ExprPtr target, iterable, filter;  // `filter` may be null
  bool recursive = false;
  Body body, otherwise;
  // Scopes:
  bool has_loop = false;  // the body uses `loop`
  VariableRef loop;
  Scope body_scope, otherwise_scope, filter_scope;
  FunctionLayout recursive_layout, filter_layout;
};

struct IfStmt : Stmt {
  struct Branch {
    ExprPtr test;
    Body body;
  };
  explicit IfStmt(uint32_t o) : Stmt(StmtKind::kIf, o) {}
  std::vector<Branch> branches;
  Body otherwise;
};

struct SetStmt : Stmt {
  explicit SetStmt(uint32_t o) : Stmt(StmtKind::kSet, o) {}
  ExprPtr target, value;
  std::vector<NamedRef> exports;  // names that become visible to macros, includes and importers
};

struct SetBlockStmt : Stmt {
  explicit SetBlockStmt(uint32_t o) : Stmt(StmtKind::kSetBlock, o) {}
  ExprPtr target;
  ExprPtr filter;  // a FilterExpr chain whose innermost input is null; may be null
  Body body;
  Scope scope;
  std::vector<NamedRef> exports;
};

// A macro, or the body of a call block (which is an anonymous macro named `caller`).
struct MacroDefinition {
  const String* name = nullptr;  // null for a call block
  uint32_t offset = 0;
  std::vector<std::unique_ptr<NameExpr>> parameters;
  std::vector<ExprPtr> defaults;  // of the last parameters
  Body body;
  FunctionLayout layout;
  Scope scope;
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;
  VariableRef caller, kwargs, varargs;  // where those go; always in the macro's own activation
};

struct MacroStmt : Stmt {
  explicit MacroStmt(uint32_t o) : Stmt(StmtKind::kMacro, o) {}
  MacroDefinition macro;
  VariableRef ref;
  bool top_level = false;
};

struct CallBlockStmt : Stmt {
  explicit CallBlockStmt(uint32_t o) : Stmt(StmtKind::kCallBlock, o) {}
  std::unique_ptr<CallExpr> call;
  MacroDefinition caller;
};

struct FilterBlockStmt : Stmt {
  explicit FilterBlockStmt(uint32_t o) : Stmt(StmtKind::kFilterBlock, o) {}
  ExprPtr filter;
  Body body;
  Scope scope;
};

struct WithStmt : Stmt {
  explicit WithStmt(uint32_t o) : Stmt(StmtKind::kWith, o) {}
  std::vector<ExprPtr> targets, values;
  Body body;
  Scope scope;
};

struct IncludeStmt : Stmt {
  explicit IncludeStmt(uint32_t o) : Stmt(StmtKind::kInclude, o) {}
  ExprPtr name;
  bool ignore_missing = false;
  bool with_context = true;
  bool buffered = false;         // inside a macro, call, filter, set block or recursive loop
  std::vector<NamedRef> locals;  // what the included template sees of the surrounding scopes
};

struct ImportStmt : Stmt {
  explicit ImportStmt(uint32_t o) : Stmt(StmtKind::kImport, o) {}
  ExprPtr name;
  const String* target = nullptr;
  bool with_context = false;
  bool top_level = false;
  VariableRef ref;
  std::vector<NamedRef> locals;
};

struct FromImportStmt : Stmt {
  struct Item {
    const String* name;
    const String* alias;
    VariableRef ref;
  };
  explicit FromImportStmt(uint32_t o) : Stmt(StmtKind::kFromImport, o) {}
  ExprPtr name;
  std::vector<Item> items;
  bool with_context = false;
  bool top_level = false;
  std::vector<NamedRef> locals;
};

// ---- template
// ------------------------------------------------------------------------------------

struct Template {
  Template(Source s, const Limits& limits) : source(std::move(s)), constants(limits) {}
  Source source;
  Heap constants;  // strings of the tree
  Body body;
  FunctionLayout layout;
  Scope scope;
};

}  // namespace ffpa_jit::codegen

#include "codegen/scope.h"

#include <map>

#include "base/error.h"
#include "codegen/ast_walk.h"
#include "codegen/filters.h"
#include "codegen/symbols.h"
#include "codegen/template_tests.h"

namespace ffpa_jit::codegen {
namespace {

// A function while it is being laid out: which variables live in its activation.
struct Function {
  Function(Function* p, FunctionLayout& l) : parent(p), layout(l) {}
  uint32_t slot(const VariableId& id) {
    auto [it, added] = slots.try_emplace(id, layout.slot_count);
    if (added) ++layout.slot_count;
    return it->second;
  }
  Function* parent;
  FunctionLayout& layout;
  std::map<VariableId, uint32_t> slots;
};

// Where the resolver stands.
struct Frame {
  Symbols& symbols;
  Function* function;
  bool top_level = false;  // the template itself, or an `if` directly in it
  bool buffered = false;   // output is captured, not written through
  bool soft =
      false;  // inside an `if` or an inline if: unknown filters are errors only when they run

  Frame inner(Symbols& s) const { return {s, function, false, buffered, false}; }
};

class ScopeResolver {
 public:
  explicit ScopeResolver(Template& result) : template_(result) {}

  void run() {
    Symbols symbols(template_.constants);
    symbols.record(template_.body);
    Function root(nullptr, template_.layout);
    Frame frame{symbols, &root};
    frame.top_level = true;
    enter(frame, template_.scope);
    resolve(template_.body, frame);
  }

 private:
  [[noreturn]] void error(uint32_t offset, const std::string& message) const {
    throw Error(FFPA_JIT_TEMPLATE_ERROR, describe_error(template_.source, offset, message));
  }

  const String* intern(const std::string& text) { return template_.constants.string(text); }

  // ---- variables
  // ---------------------------------------------------------------------------------

  VariableRef locate(const VariableId& id, const Function* function, uint32_t offset) const {
    uint16_t hops = 0;
    for (const Function* f = function; f; f = f->parent, ++hops) {
      auto found = f->slots.find(id);
      if (found != f->slots.end()) return {hops, found->second};
    }
    return unknown(id.name, offset);
  }

  VariableRef ref(const std::string& name, const Frame& frame, uint32_t offset) const {
    std::optional<VariableId> id = frame.symbols.find(name);
    if (!id) return unknown(name, offset);
    return locate(*id, frame.function, offset);
  }

  // Jinja2 stops with an assertion here too: the filter of a set block sees only names used
  // elsewhere around it.
  VariableRef unknown(const std::string& name, uint32_t offset) const {
    error(offset, fmt::format("'{}' cannot be used here; assign it to a variable first", name));
  }

  void enter(const Frame& frame, Scope& scope, uint32_t offset = 0) {
    for (const auto& [id, load] : frame.symbols.loads()) frame.function->slot(id);
    for (const auto& [id, load] : frame.symbols.loads()) {
      VariableLoad result;
      result.kind = load.kind;
      result.slot = frame.function->slot(id);
      if (load.kind == VariableLoad::Kind::kContext) result.name = intern(id.name);
      if (load.kind == VariableLoad::Kind::kAlias) {
        result.source = locate(load.source, frame.function, offset);
      }
      scope.loads.push_back(result);
    }
  }

  std::vector<NamedRef> visible_locals(const Frame& frame, uint32_t offset) {
    std::vector<NamedRef> result;
    for (const auto& [name, id] : frame.symbols.visible_stores()) {
      result.push_back({intern(name), locate(id, frame.function, offset)});
    }
    return result;
  }

  std::vector<NamedRef> exports_of(const Expr& target, const Frame& frame) {
    std::vector<NamedRef> result;
    if (!frame.top_level) return result;
    visit_names(target, [&](const NameExpr& name) {
      result.push_back({name.name, ref(name.name->text, frame, name.offset)});
    });
    return result;
  }

  // ---- expressions
  // -------------------------------------------------------------------------------

  void resolve(const ExprPtr& expr, const Frame& frame) {
    if (expr) resolve(*expr, frame);
  }

  void resolve(Expr& expr, const Frame& frame) {
    switch (expr.kind) {
      case ExprKind::kConst:
        return;
      case ExprKind::kName: {
        auto& name = static_cast<NameExpr&>(expr);
        name.ref = ref(name.name->text, frame, name.offset);
        return;
      }
      case ExprKind::kNamespaceRef: {
        auto& name = static_cast<NamespaceRefExpr&>(expr);
        name.ref = ref(name.name->text, frame, name.offset);
        return;
      }
      case ExprKind::kTuple:
      case ExprKind::kList:
        for (ExprPtr& item : static_cast<SequenceExpr&>(expr).items) resolve(item, frame);
        return;
      case ExprKind::kDict:
        for (auto& [key, value] : static_cast<DictExpr&>(expr).items) {
          resolve(key, frame);
          resolve(value, frame);
        }
        return;
      case ExprKind::kUnary:
        resolve(static_cast<UnaryExpr&>(expr).operand, frame);
        return;
      case ExprKind::kBinary:
        resolve(static_cast<BinaryExpr&>(expr).left, frame);
        resolve(static_cast<BinaryExpr&>(expr).right, frame);
        return;
      case ExprKind::kLogical:
        resolve(static_cast<LogicalExpr&>(expr).left, frame);
        resolve(static_cast<LogicalExpr&>(expr).right, frame);
        return;
      case ExprKind::kCompare:
        resolve(static_cast<CompareExpr&>(expr).first, frame);
        for (auto& [op, operand] : static_cast<CompareExpr&>(expr).rest) resolve(operand, frame);
        return;
      case ExprKind::kConcat:
        for (ExprPtr& item : static_cast<ConcatExpr&>(expr).items) resolve(item, frame);
        return;
      case ExprKind::kCondition: {
        auto& condition = static_cast<ConditionExpr&>(expr);
        Frame soft = frame;
        soft.soft = true;
        resolve(condition.test, soft);
        resolve(condition.then, soft);
        resolve(condition.otherwise, soft);
        return;
      }
      case ExprKind::kAttribute:
        resolve(static_cast<AttributeExpr&>(expr).object, frame);
        return;
      case ExprKind::kSubscript:
        resolve(static_cast<SubscriptExpr&>(expr).object, frame);
        resolve(static_cast<SubscriptExpr&>(expr).index, frame);
        return;
      case ExprKind::kSlice:
        resolve(static_cast<SliceExpr&>(expr).start, frame);
        resolve(static_cast<SliceExpr&>(expr).stop, frame);
        resolve(static_cast<SliceExpr&>(expr).step, frame);
        return;
      case ExprKind::kFilter: {
        auto& filter = static_cast<FilterExpr&>(expr);
        filter.filter = find_filter(filter.name);
        if (!filter.filter && !frame.soft) error(filter.offset, unknown_filter(filter.name));
        resolve(filter.input, frame);
        resolve(filter.arguments, frame);
        return;
      }
      case ExprKind::kTest: {
        auto& test = static_cast<TestExpr&>(expr);
        test.test = find_test(test.name);
        if (!test.test && !frame.soft) error(test.offset, unknown_test(test.name));
        resolve(test.input, frame);
        resolve(test.arguments, frame);
        return;
      }
      case ExprKind::kCall:
        resolve(static_cast<CallExpr&>(expr).callee, frame);
        resolve(static_cast<CallExpr&>(expr).arguments, frame);
        return;
    }
  }

  void resolve(Arguments& arguments, const Frame& frame) {
    for (ExprPtr& value : arguments.positional) resolve(value, frame);
    for (auto& [name, value] : arguments.keyword) resolve(value, frame);
    resolve(arguments.star, frame);
    resolve(arguments.star_star, frame);
  }

  // ---- statements
  // --------------------------------------------------------------------------------

  void resolve(Body& body, const Frame& frame) {
    for (StmtPtr& stmt : body) resolve(*stmt, frame);
  }

  void resolve(Stmt& stmt, const Frame& frame) {
    switch (stmt.kind) {
      case StmtKind::kOutput:
        for (auto& part : static_cast<OutputStmt&>(stmt).parts) resolve(part.expr, frame);
        return;
      case StmtKind::kFor:
        return resolve_for(static_cast<ForStmt&>(stmt), frame);
      case StmtKind::kIf: {
        auto& condition = static_cast<IfStmt&>(stmt);
        Frame soft = frame;
        soft.soft = true;
        for (auto& branch : condition.branches) {
          resolve(branch.test, soft);
          resolve(branch.body, soft);
        }
        resolve(condition.otherwise, soft);
        return;
      }
      case StmtKind::kSet: {
        auto& set = static_cast<SetStmt&>(stmt);
        resolve(set.value, frame);
        resolve(set.target, frame);
        set.exports = exports_of(*set.target, frame);
        return;
      }
      case StmtKind::kSetBlock:
        return resolve_set_block(static_cast<SetBlockStmt&>(stmt), frame);
      case StmtKind::kMacro: {
        auto& macro = static_cast<MacroStmt&>(stmt);
        resolve_macro(macro.macro, frame);
        macro.ref = ref(macro.macro.name->text, frame, macro.offset);
        macro.top_level = frame.top_level;
        return;
      }
      case StmtKind::kCallBlock: {
        auto& block = static_cast<CallBlockStmt&>(stmt);
        resolve_macro(block.caller, frame);
        resolve(*block.call, frame);
        return;
      }
      case StmtKind::kFilterBlock: {
        auto& block = static_cast<FilterBlockStmt&>(stmt);
        Symbols symbols(&frame.symbols);
        symbols.record(block.body);
        symbols.record(*block.filter);
        Frame inner = frame.inner(symbols);
        inner.buffered = true;
        enter(inner, block.scope, block.offset);
        resolve(block.body, inner);
        resolve(block.filter, inner);
        return;
      }
      case StmtKind::kWith:
        return resolve_with(static_cast<WithStmt&>(stmt), frame);
      case StmtKind::kInclude: {
        auto& include = static_cast<IncludeStmt&>(stmt);
        resolve(include.name, frame);
        include.buffered = frame.buffered;
        if (include.with_context) include.locals = visible_locals(frame, include.offset);
        return;
      }
      case StmtKind::kImport: {
        auto& import = static_cast<ImportStmt&>(stmt);
        resolve(import.name, frame);
        import.ref = ref(import.target->text, frame, import.offset);
        import.top_level = frame.top_level;
        if (import.with_context) import.locals = visible_locals(frame, import.offset);
        return;
      }
      case StmtKind::kFromImport: {
        auto& import = static_cast<FromImportStmt&>(stmt);
        resolve(import.name, frame);
        for (auto& item : import.items) item.ref = ref(item.alias->text, frame, import.offset);
        import.top_level = frame.top_level;
        if (import.with_context) import.locals = visible_locals(frame, import.offset);
        return;
      }
    }
  }

  void resolve_for(ForStmt& loop, const Frame& frame) {
    check_loop_name(loop);
    Symbols body_symbols(&frame.symbols), otherwise_symbols(&frame.symbols),
        filter_symbols(&frame.symbols);
    loop.has_loop = loop.recursive || names_read_first(loop.body, {"loop"}).contains("loop");
    if (loop.has_loop) body_symbols.declare_parameter("loop");
    body_symbols.record_target(*loop.target, true);
    body_symbols.record(loop.body);
    otherwise_symbols.record(loop.otherwise);

    Frame outer = frame;  // of the loop itself: another function when it is recursive
    Function recursive(frame.function, loop.recursive_layout);
    if (loop.recursive) {
      outer.function = &recursive;
      outer.buffered = true;
    }
    Frame body = outer.inner(body_symbols);
    enter(body, loop.body_scope, loop.offset);
    if (loop.has_loop) loop.loop = ref("loop", body, loop.offset);
    resolve(loop.target, body);
    if (loop.filter) {
      filter_symbols.record_target(*loop.target, true);
      filter_symbols.record(*loop.filter);
      Function filter(frame.function, loop.filter_layout);
      Frame inner = frame.inner(filter_symbols);
      inner.function = &filter;
      enter(inner, loop.filter_scope, loop.offset);
      resolve_filter_target(*loop.target, inner);
      resolve(loop.filter, inner);
    }
    resolve(loop.iterable, frame);
    resolve(loop.body, body);
    Frame otherwise = outer.inner(otherwise_symbols);
    enter(otherwise, loop.otherwise_scope, loop.offset);
    resolve(loop.otherwise, otherwise);
  }

  void resolve_filter_target(Expr& target, const Frame& frame) {
    if (target.kind == ExprKind::kName) {
      auto& name = static_cast<NameExpr&>(target);
      name.filter_ref = ref(name.name->text, frame, name.offset);
    } else if (target.kind == ExprKind::kTuple) {
      for (ExprPtr& item : static_cast<SequenceExpr&>(target).items)
        resolve_filter_target(*item, frame);
    }
  }

  void check_loop_name(const ForStmt& loop) const {
    visit_names(loop, [&](const NameExpr& name) {
      if (name.use == NameExpr::Use::kStore && name.name->text == "loop") {
        error(name.offset, "cannot assign to the special variable 'loop' inside a for loop");
      }
    });
  }

  void resolve_set_block(SetBlockStmt& set, const Frame& frame) {
    Symbols symbols(&frame.symbols);
    symbols.record(set.body);
    Frame inner = frame.inner(symbols);
    inner.buffered = true;
    enter(inner, set.scope, set.offset);
    resolve(set.body, inner);
    resolve(set.target, frame);
    resolve(set.filter, inner);
    set.exports = exports_of(*set.target, frame);
  }

  void resolve_with(WithStmt& with, const Frame& frame) {
    Symbols symbols(&frame.symbols);
    for (const ExprPtr& target : with.targets) symbols.record_target(*target, true);
    symbols.record(with.body);
    Frame inner = frame.inner(symbols);
    enter(inner, with.scope, with.offset);
    for (ExprPtr& target : with.targets) resolve(target, inner);
    for (ExprPtr& value : with.values) resolve(value, frame);
    resolve(with.body, inner);
  }

  void resolve_macro(MacroDefinition& macro, const Frame& frame) {
    Symbols symbols(&frame.symbols);
    auto record = [&] {
      for (const auto& parameter : macro.parameters)
        symbols.declare_parameter(parameter->name->text);
      for (const ExprPtr& value : macro.defaults) symbols.record(*value);
      symbols.record(macro.body);
    };
    record();
    std::set<std::string> special = names_read_first(macro.body, {"caller", "kwargs", "varargs"});
    bool own_caller = false;
    for (size_t i = 0; i < macro.parameters.size(); ++i) {
      const std::string& name = macro.parameters[i]->name->text;
      if (name == "caller") {
        own_caller = true;
        bool has_default = i >= macro.parameters.size() - macro.defaults.size();
        if (special.contains("caller") && !has_default) {
          error(macro.parameters[i]->offset,
                "the special parameter 'caller' must be left out or given a default");
        }
      }
      if (name == "kwargs" || name == "varargs") special.erase(name);
    }
    macro.uses_caller = special.contains("caller");
    macro.uses_kwargs = special.contains("kwargs");
    macro.uses_varargs = special.contains("varargs");
    if (macro.uses_caller && !own_caller) symbols.declare_parameter("caller");
    if (macro.uses_kwargs) symbols.declare_parameter("kwargs");
    if (macro.uses_varargs) symbols.declare_parameter("varargs");
    record();

    Function function(frame.function, macro.layout);
    Frame inner = frame.inner(symbols);
    inner.function = &function;
    inner.buffered = true;
    enter(inner, macro.scope, macro.offset);
    for (auto& parameter : macro.parameters) {
      parameter->ref = ref(parameter->name->text, inner, parameter->offset);
    }
    for (ExprPtr& value : macro.defaults) resolve(value, inner);
    if (macro.uses_caller) macro.caller = ref("caller", inner, macro.offset);
    if (macro.uses_kwargs) macro.kwargs = ref("kwargs", inner, macro.offset);
    if (macro.uses_varargs) macro.varargs = ref("varargs", inner, macro.offset);
    resolve(macro.body, inner);
  }

  Template& template_;
};

}  // namespace

void resolve_scopes(Template& result) { ScopeResolver(result).run(); }

}  // namespace ffpa_jit::codegen

// Statements: output, loops, assignments.
#include "codegen/failure.h"
#include "codegen/interpreter.h"
#include "codegen/iteration.h"
#include "codegen/operators.h"
#include "codegen/text_form.h"

namespace ffpa_jit::codegen {

void Interpreter::run(const Body& body) {
  for (const StmtPtr& stmt : body) run(*stmt);
}

void Interpreter::run(const Stmt& stmt) {
  try {
    Depth depth(*this);
    run_here(stmt);
  } catch (const Failure& failure) {
    raise(stmt.offset, failure.what());
  }
}

void Interpreter::run_here(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::kOutput:
      return output(static_cast<const OutputStmt&>(stmt));
    case StmtKind::kFor:
      return run_for(static_cast<const ForStmt&>(stmt));
    case StmtKind::kIf: {
      const auto& condition = static_cast<const IfStmt&>(stmt);
      for (const auto& branch : condition.branches) {
        if (truth(evaluate(*branch.test))) return run(branch.body);
      }
      return run(condition.otherwise);
    }
    case StmtKind::kSet: {
      const auto& set = static_cast<const SetStmt&>(stmt);
      check_namespaces(*set.target);
      assign(*set.target, evaluate(*set.value));
      return export_names(set.exports);
    }
    case StmtKind::kSetBlock:
      return run_set_block(static_cast<const SetBlockStmt&>(stmt));
    case StmtKind::kMacro: {
      const auto& macro = static_cast<const MacroStmt&>(stmt);
      Value value = make_macro(macro.macro);
      slot(macro.ref) = value;
      if (macro.top_level) export_names({{macro.macro.name, macro.ref}});
      return;
    }
    case StmtKind::kCallBlock: {
      const auto& block = static_cast<const CallBlockStmt&>(stmt);
      Value caller = make_macro(block.caller);
      return write_raw(evaluate_call(*block.call, &caller), stmt.offset);
    }
    case StmtKind::kFilterBlock: {
      const auto& block = static_cast<const FilterBlockStmt&>(stmt);
      enter(block.scope);
      Value captured(capture([&] { run(block.body); }));
      Value result = filter_captured(*block.filter, captured);
      leave(block.scope);
      return write_raw(result, stmt.offset);
    }
    case StmtKind::kWith:
      return run_with(static_cast<const WithStmt&>(stmt));
    case StmtKind::kInclude:
      return run_include(static_cast<const IncludeStmt&>(stmt));
    case StmtKind::kImport:
      return run_import(static_cast<const ImportStmt&>(stmt));
    case StmtKind::kFromImport:
      return run_from_import(static_cast<const FromImportStmt&>(stmt));
  }
}

// ---- output
// --------------------------------------------------------------------------------------

void Interpreter::output(const OutputStmt& stmt) {
  for (const OutputStmt::Part& part : stmt.parts) {
    if (!part.expr) {
      output_->template_text(part.data, source_->source, part.line);
      continue;
    }
    Value value = evaluate(*part.expr);
    try {
      print(value, *source_, part.line);
    } catch (const Failure& failure) {
      raise(part.expr->offset, failure.what());
    }
  }
}

void Interpreter::print(const Value& value, const Template& source, uint32_t line) {
  if (value.is_string()) {
    output_->value_text(value.as_string(), source.source, line);
  } else if (value.is(Type::kModule)) {
    output_->value_text(*value.as<Module>().body, source.source, line);
  } else {
    output_->plain_text(str_of(heap_, value), source.source, line);
  }
}

// The result of a call block or filter block, which Jinja2 writes without str(): it must be text.
void Interpreter::write_raw(const Value& value, uint32_t offset) {
  if (value.undefined()) fail_undefined(value);
  if (!value.is_string()) fail("this block must produce text, not {}", type_name(value));
  print(value, *source_, source_->source.line_of(offset));
}

const String* Interpreter::capture(const std::function<void()>& body) {
  Output captured(heap_, line_directives_);
  {
    Frame frame(*this, activation_, source_, &captured);
    body();
  }
  return captured.take();
}

// ---- scopes and assignment
// -----------------------------------------------------------------------

Value& Interpreter::slot(const VariableRef& ref) {
  Activation* activation = activation_;
  for (uint16_t i = 0; i < ref.hops; ++i) activation = activation->parent;
  return activation->slots[ref.slot];
}

void Interpreter::enter(const Scope& scope) {
  for (const VariableLoad& load : scope.loads) {
    Value& variable = activation_->slots[load.slot];
    switch (load.kind) {
      case VariableLoad::Kind::kParameter:
        break;
      case VariableLoad::Kind::kUndefined:
        variable = Value();
        break;
      case VariableLoad::Kind::kAlias:
        variable = slot(load.source);
        break;
      case VariableLoad::Kind::kContext: {
        const Context& context = *activation_->context;
        auto found = context.vars.find(load.name->text);
        const Value* value =
            found != context.vars.end() ? &found->second : context.given->find(load.name->text);
        variable = value ? *value : Value();
        break;
      }
    }
  }
}

void Interpreter::leave(const Scope& scope) {
  for (const VariableLoad& load : scope.loads) activation_->slots[load.slot] = Value();
}

void Interpreter::assign(const Expr& target, const Value& value) {
  switch (target.kind) {
    case ExprKind::kName:
      slot(static_cast<const NameExpr&>(target).ref) = value;
      return;
    case ExprKind::kNamespaceRef: {
      const auto& name = static_cast<const NamespaceRefExpr&>(target);
      slot(name.ref).as<Namespace>().attributes->set(heap_, Value(name.attribute), value);
      return;
    }
    default: {
      const auto& targets = static_cast<const SequenceExpr&>(target).items;
      // One element more than wanted is enough to know that there are too many.
      std::vector<Value> items;
      Iterator* elements = iterate(heap_, value);
      Value element;
      while (items.size() <= targets.size() && elements->next(element)) items.push_back(element);
      if (items.size() > targets.size())
        fail("too many values to unpack (expected {})", targets.size());
      if (items.size() < targets.size()) {
        fail("not enough values to unpack (expected {}, got {})", targets.size(), items.size());
      }
      for (size_t i = 0; i < targets.size(); ++i) assign(*targets[i], items[i]);
    }
  }
}

void Interpreter::check_namespaces(const Expr& target) {
  if (target.kind == ExprKind::kNamespaceRef) {
    const auto& name = static_cast<const NamespaceRefExpr&>(target);
    if (!slot(name.ref).is(Type::kNamespace)) {
      fail("cannot assign to an attribute of '{}', which is not a namespace()", name.name->text);
    }
  } else if (target.kind == ExprKind::kTuple) {
    for (const ExprPtr& item : static_cast<const SequenceExpr&>(target).items)
      check_namespaces(*item);
  }
}

void Interpreter::export_names(const std::vector<NamedRef>& names) {
  Context& context = *activation_->context;
  for (const NamedRef& name : names) {
    context.vars[name.name->text] = slot(name.ref);
    if (!name.name->text.starts_with('_')) context.exported.insert(name.name->text);
  }
}

void Interpreter::run_set_block(const SetBlockStmt& set) {
  check_namespaces(*set.target);
  enter(set.scope);
  Value value(capture([&] { run(set.body); }));
  if (set.filter) value = filter_captured(*set.filter, value);
  assign(*set.target, value);
  export_names(set.exports);
  leave(set.scope);
}

void Interpreter::run_with(const WithStmt& with) {
  enter(with.scope);
  for (size_t i = 0; i < with.targets.size(); ++i)
    assign(*with.targets[i], evaluate(*with.values[i]));
  run(with.body);
  leave(with.scope);
}

// ---- loops
// ---------------------------------------------------------------------------------------

void Interpreter::run_for(const ForStmt& loop) {
  Value iterable = evaluate(*loop.iterable);
  if (!loop.recursive) return run_loop(loop, iterable, 0);
  Loop outermost;
  outermost.recursive = &loop;
  outermost.closure = activation_;
  outermost.depth0 = -1;
  CallArguments arguments;
  arguments.positional.push_back(iterable);
  write_raw(call_loop(outermost, arguments), loop.offset);
}

// The body for each element; in a recursive loop this runs in the loop's own activation.
void Interpreter::run_loop(const ForStmt& loop, const Value& iterable, int64_t depth) {
  Value items = loop.filter ? filtered_items(loop, iterable) : iterable;
  Loop* state = heap_.make<Loop>();
  state->iterable = items;
  state->iterator = iterate(heap_, items);
  state->depth0 = depth;
  if (loop.recursive) {
    state->recursive = &loop;
    state->closure = activation_->parent;
  }
  bool ran = false;
  while (state->advance(heap_)) {
    ran = true;
    assign(*loop.target, state->current);
    if (loop.has_loop) slot(loop.loop) = Value::object(Type::kLoop, state);
    enter(loop.body_scope);
    run(loop.body);
  }
  leave(loop.body_scope);
  if (ran || loop.otherwise.empty()) return;
  enter(loop.otherwise_scope);
  run(loop.otherwise);
  leave(loop.otherwise_scope);
}

// `for x in xs if ...`: a generator with an activation of its own, so the test runs as the loop
// goes on.
Value Interpreter::filtered_items(const ForStmt& loop, const Value& iterable) {
  Activation* closure = loop.recursive ? activation_->parent : activation_;
  Activation* own =
      heap_.make<Activation>(closure, activation_->context, loop.filter_layout.slot_count);
  const Template* source = source_;
  return make_generator(heap_, [this, &loop, iterable, own, source,
                                elements = static_cast<Iterator*>(nullptr)](Value& out) mutable {
    Frame frame(*this, own, source, output_);
    if (!elements) {
      elements = iterate(heap_, iterable);
      enter(loop.filter_scope);
    }
    Value element;
    while (elements->next(element)) {
      assign_filter_target(*loop.target, element);
      if (truth(evaluate(*loop.filter))) {
        out = rebuild_filter_target(*loop.target);
        return true;
      }
    }
    return false;
  });
}

void Interpreter::assign_filter_target(const Expr& target, const Value& value) {
  if (target.kind == ExprKind::kName) {
    slot(static_cast<const NameExpr&>(target).filter_ref) = value;
    return;
  }
  const auto& targets = static_cast<const SequenceExpr&>(target).items;
  std::vector<Value> items = collect(heap_, value);
  if (items.size() != targets.size()) {
    fail("cannot unpack {} value(s) into {} variable(s)", items.size(), targets.size());
  }
  for (size_t i = 0; i < targets.size(); ++i) assign_filter_target(*targets[i], items[i]);
}

Value Interpreter::rebuild_filter_target(const Expr& target) {
  if (target.kind == ExprKind::kName) return slot(static_cast<const NameExpr&>(target).filter_ref);
  std::vector<Value> items;
  for (const ExprPtr& item : static_cast<const SequenceExpr&>(target).items) {
    items.push_back(rebuild_filter_target(*item));
  }
  return heap_.tuple(std::move(items));
}

}  // namespace ffpa_jit::codegen

// Calls: functions, macros, recursive loops; and other templates: include, import.
#include "base/error.h"
#include "codegen/failure.h"
#include "codegen/interpreter.h"
#include "codegen/iteration.h"
#include "codegen/operators.h"
#include "codegen/text_form.h"

namespace ffpa_jit::codegen {
namespace {

// Removes and returns a keyword argument; missing when it was not given.
Value take_keyword(CallArguments& arguments, std::string_view name) {
  for (auto it = arguments.keyword.begin(); it != arguments.keyword.end(); ++it) {
    if (it->first->text != name) continue;
    Value value = it->second;
    arguments.keyword.erase(it);
    return value;
  }
  return {};
}

}  // namespace

Value Interpreter::evaluate_call(const CallExpr& expr, const Value* caller) {
  Value callee = evaluate(*expr.callee);
  CallArguments arguments = evaluate_arguments(expr.arguments);
  if (caller) {
    for (const auto& [name, value] : arguments.keyword) {
      if (name->text == "caller") fail("a call block passes 'caller' itself");
    }
    arguments.keyword.emplace_back(heap_.string("caller"), *caller);
  }
  std::string what;
  switch (callee.type()) {
    case Type::kMacro: {
      const String* name = callee.as<Macro>().definition->name;
      what = name ? fmt::format("macro '{}' called", name->text) : "block of a call entered";
      break;
    }
    case Type::kLoop:
      what = "loop called again";
      break;
    default:
      return call(callee, arguments);
  }
  call_sites_.push_back({source_, expr.offset, std::move(what)});
  Value result = call(callee, arguments);
  call_sites_.pop_back();
  return result;
}

Value Interpreter::call(const Value& callee, CallArguments& arguments) {
  switch (callee.type()) {
    case Type::kCallable:
      return callee.as<Callable>().function(*this, arguments);
    case Type::kMacro:
      return call_macro(callee.as<Macro>(), arguments);
    case Type::kLoop:
      return call_loop(callee.as<Loop>(), arguments);
    case Type::kJoiner: {
      if (!arguments.positional.empty() || !arguments.keyword.empty())
        fail("a joiner takes no arguments");
      Joiner& joiner = callee.as<Joiner>();
      if (joiner.used) return joiner.separator;
      joiner.used = true;
      return heap_.string("");
    }
    case Type::kUndefined:
      fail_undefined(callee);
    default:
      fail("{} cannot be called", type_name(callee));
  }
}

// ---- macros
// --------------------------------------------------------------------------------------

Value Interpreter::make_macro(const MacroDefinition& definition) {
  auto* macro = heap_.make<Macro>();
  macro->definition = &definition;
  macro->closure = activation_;
  return Value::object(Type::kMacro, macro);
}

Value Interpreter::call_macro(const Macro& macro, CallArguments& arguments) {
  const MacroDefinition& definition = *macro.definition;
  std::string name =
      definition.name ? "macro '" + definition.name->text + "'" : "the block of a call";
  size_t count = definition.parameters.size();
  size_t given = std::min(count, arguments.positional.size());
  auto* own =
      heap_.make<Activation>(macro.closure, macro.closure->context, definition.layout.slot_count);
  heap_.charge_bytes(definition.layout.slot_count * sizeof(Value));

  bool caller_is_parameter = false;
  for (size_t i = 0; i < count; ++i) {
    bool is_caller = definition.parameters[i]->name->text == "caller";
    Value value = i < given ? arguments.positional[i]
                            : take_keyword(arguments, definition.parameters[i]->name->text);
    own->slots[definition.parameters[i]->ref.slot] = value;
    caller_is_parameter = caller_is_parameter || is_caller;
  }
  if (definition.uses_caller && !caller_is_parameter) {
    Value caller = take_keyword(arguments, "caller");
    bool none = caller.missing() || caller.is(Type::kNone);
    own->slots[definition.caller.slot] =
        none ? heap_.undefined("this macro was not called by a call block") : caller;
  }
  if (definition.uses_kwargs) {
    auto* rest = heap_.make<Dict>();
    for (const auto& [key, value] : arguments.keyword) rest->set(heap_, Value(key), value);
    own->slots[definition.kwargs.slot] = Value::object(Type::kDict, rest);
  } else if (!arguments.keyword.empty()) {
    fail("{} takes no keyword argument '{}'", name, arguments.keyword.front().first->text);
  }
  if (definition.uses_varargs) {
    std::vector<Value> rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(given),
                            arguments.positional.end());
    own->slots[definition.varargs.slot] = heap_.tuple(std::move(rest));
  } else if (arguments.positional.size() > count) {
    fail("{} takes at most {} argument(s), {} given", name, count, arguments.positional.size());
  }

  Output captured(heap_, line_directives_);
  {
    const Template* source = macro.closure->context->source;
    Frame frame(*this, own, source, &captured);
    enter(definition.scope);
    size_t first_default = count - definition.defaults.size();
    for (size_t i = 0; i < count; ++i) {
      const NameExpr& parameter = *definition.parameters[i];
      if (!own->slots[parameter.ref.slot].missing()) continue;
      own->slots[parameter.ref.slot] =
          i >= first_default ? evaluate(*definition.defaults[i - first_default])
                             : heap_.undefined(fmt::format("parameter '{}' was not provided",
                                                           parameter.name->text));
    }
    run(definition.body);
  }
  return Value(captured.take());
}

// loop(items) inside a recursive loop; also how such a loop starts.
Value Interpreter::call_loop(Loop& loop, const CallArguments& arguments) {
  if (!loop.recursive) fail("the loop must be marked 'recursive' to be called");
  if (arguments.positional.size() != 1 || !arguments.keyword.empty())
    fail("loop takes one argument, the items");
  const ForStmt& statement = *loop.recursive;
  auto* own = heap_.make<Activation>(loop.closure, loop.closure->context,
                                     statement.recursive_layout.slot_count);
  Output captured(heap_, line_directives_);
  {
    Frame frame(*this, own, loop.closure->context->source, &captured);
    run_loop(statement, arguments.positional[0], loop.depth0 + 1);
  }
  return Value(captured.take());
}

// ---- other templates
// -----------------------------------------------------------------------------

const Template* Interpreter::load_template(std::string_view name, const CallSite& site) {
  auto found = loaded_.find(name);
  if (found != loaded_.end()) return found->second;
  std::shared_ptr<const Template> result;
  try {
    result = loader_(name);
  } catch (const Error& error) {
    throw Error(error.code(), error.what() +
                                  describe_call_site(site.what, site.source->source, site.offset) +
                                  call_chain());
  }
  if (!result) return nullptr;
  templates_.push_back(result);
  loaded_.emplace(std::string(name), result.get());
  return result.get();
}

// nullptr: not there, and that is allowed.
const Template* Interpreter::find_template(const Value& name, bool ignore_missing,
                                           const CallSite& site) {
  if (name.undefined()) fail_undefined(name);
  std::vector<Value> names{name};
  if (!name.is_string()) {
    if (!is_iterable(name))
      fail("the name of a template must be text or a list, not {}", type_name(name));
    names = collect(heap_, name);
  }
  for (const Value& candidate : names) {
    if (candidate.undefined() && !name.is_string()) continue;
    if (!candidate.is_string())
      fail("the name of a template must be text, not {}", type_name(candidate));
    if (const Template* result = load_template(candidate.text(), site)) return result;
  }
  if (ignore_missing) return nullptr;
  std::string tried;
  for (const Value& candidate : names) {
    if (candidate.is_string())
      tried += fmt::format("{}'{}'", tried.empty() ? "" : ", ", candidate.text());
  }
  fail("there is no template {}", tried.empty() ? "in an empty list" : tried);
}

// What a template sees that is included or imported "with context": all names here, and the local
// variables.
std::shared_ptr<const Names> Interpreter::visible_names(const std::vector<NamedRef>& locals) {
  const Context& context = *activation_->context;
  auto names = std::make_shared<Names>();
  names->values = context.vars;
  names->outer = context.given;
  for (const NamedRef& local : locals) {
    const Value& value = slot(local.ref);
    if (!value.missing()) names->values[local.name->text] = value;
  }
  heap_.charge_bytes(names->values.size() * 64);
  return names;
}

void Interpreter::run_template(const Template& source, Context& context, Output& output) {
  auto* own = heap_.make<Activation>(nullptr, &context, source.layout.slot_count);
  heap_.charge_bytes(source.layout.slot_count * sizeof(Value));
  Frame frame(*this, own, &source, &output);
  enter(source.scope);
  run(source.body);
}

void Interpreter::run_include(const IncludeStmt& include) {
  CallSite site{source_, include.offset, "included"};
  const Template* found = find_template(evaluate(*include.name), include.ignore_missing, site);
  if (!found) return;
  if (!include.with_context && include.buffered) {
    fail(
        "'include ... without context' works in Jinja2 only outside macros, calls, filters and set "
        "blocks");
  }
  call_sites_.push_back(site);
  if (include.with_context) {
    auto* context = heap_.make<Context>();
    context->source = found;
    context->given = visible_names(include.locals);
    run_template(*found, *context, *output_);
  } else {
    const Module* module = default_module(*found);
    output_->value_text(*module->body, source_->source, source_->source.line_of(include.offset));
  }
  call_sites_.pop_back();
}

Module* Interpreter::make_module(const Template& source, std::shared_ptr<const Names> given) {
  auto* context = heap_.make<Context>();
  context->source = &source;
  context->given = std::move(given);
  Output captured(heap_, line_directives_);
  run_template(source, *context, captured);
  auto* module = heap_.make<Module>();
  module->source = &source;
  module->body = captured.take();
  for (const std::string& name : context->exported) {
    auto found = context->vars.find(name);
    if (found != context->vars.end()) module->exported[name] = found->second;
  }
  return module;
}

Module* Interpreter::default_module(const Template& source) {
  auto found = modules_.find(&source);
  if (found != modules_.end()) return found->second;
  Module* module = make_module(source, globals_);
  modules_[&source] = module;
  return module;
}

Module* Interpreter::import_module(const Expr& name, bool with_context,
                                   const std::vector<NamedRef>& locals) {
  Value value = evaluate(name);
  if (!value.is_string() && !value.undefined())
    fail("the name of a template must be text, not {}", type_name(value));
  CallSite site{source_, name.offset, "imported"};
  const Template* found = find_template(value, false, site);
  call_sites_.push_back(site);
  Module* module =
      with_context ? make_module(*found, visible_names(locals)) : default_module(*found);
  call_sites_.pop_back();
  return module;
}

void Interpreter::run_import(const ImportStmt& import) {
  Value module =
      Value::object(Type::kModule, import_module(*import.name, import.with_context, import.locals));
  slot(import.ref) = module;
  if (!import.top_level) return;
  Context& context = *activation_->context;
  context.vars[import.target->text] = module;
  context.exported.erase(import.target->text);
}

void Interpreter::run_from_import(const FromImportStmt& import) {
  Module* module = import_module(*import.name, import.with_context, import.locals);
  Context& context = *activation_->context;
  for (const FromImportStmt::Item& item : import.items) {
    auto found = module->exported.find(item.name->text);
    Value value =
        found != module->exported.end()
            ? found->second
            : heap_.undefined(fmt::format("{} does not export '{}'", module->source->source.path(),
                                          item.name->text));
    slot(item.ref) = value;
    if (!import.top_level) continue;
    context.vars[item.alias->text] = value;
    if (!item.alias->text.starts_with('_')) context.exported.erase(item.alias->text);
  }
}

}  // namespace ffpa_jit::codegen

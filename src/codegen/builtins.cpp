#include "codegen/builtins.h"

#include "codegen/arguments.h"
#include "codegen/failure.h"
#include "codegen/interpreter.h"
#include "codegen/operators.h"
#include "codegen/sorting.h"

namespace ffpa_jit::codegen {
namespace {

Value make_range(Interpreter& in, const CallArguments& arguments) {
  const auto& args = arguments.positional;
  if (!arguments.keyword.empty()) fail("range takes no keyword arguments");
  if (args.empty() || args.size() > 3) fail("range takes 1 to 3 arguments, {} given", args.size());
  auto* range = in.heap().make<Range>();
  if (args.size() == 1) {
    range->stop = to_integer(args[0], "the end of range");
  } else {
    range->start = to_integer(args[0], "the start of range");
    range->stop = to_integer(args[1], "the end of range");
  }
  if (args.size() == 3) range->step = to_integer(args[2], "the step of range");
  if (range->step == 0) fail("the step of range cannot be 0");
  return Value::object(Type::kRange, range);
}

Value make_dict(Interpreter& in, const CallArguments& arguments) {
  auto* dict = in.heap().make<Dict>();
  fill_dict(in.heap(), *dict, arguments);
  return Value::object(Type::kDict, dict);
}

Value make_namespace(Interpreter& in, const CallArguments& arguments) {
  auto* result = in.heap().make<Namespace>();
  result->attributes = &make_dict(in, arguments).as<Dict>();
  return Value::object(Type::kNamespace, result);
}

Value make_cycler(Interpreter& in, const CallArguments& arguments) {
  if (arguments.positional.empty() || !arguments.keyword.empty())
    fail("cycler needs at least one value");
  auto* cycler = in.heap().make<Cycler>();
  cycler->items = arguments.positional;
  return Value::object(Type::kCycler, cycler);
}

Value make_joiner(Interpreter& in, const CallArguments& arguments) {
  BoundArguments args = bind("joiner", {{"sep"}, 0}, arguments);
  auto* joiner = in.heap().make<Joiner>();
  joiner->separator = args[0].missing() ? Value(in.heap().string(", ")) : args[0];
  return Value::object(Type::kJoiner, joiner);
}

}  // namespace

std::shared_ptr<const Names> make_globals(Heap& heap) {
  auto names = std::make_shared<Names>();
  names->values["range"] = heap.callable("range", make_range);
  names->values["dict"] = heap.callable("dict", make_dict);
  names->values["namespace"] = heap.callable("namespace", make_namespace);
  names->values["cycler"] = heap.callable("cycler", make_cycler);
  names->values["joiner"] = heap.callable("joiner", make_joiner);
  names->values["lipsum"] =
      heap.callable("lipsum", [](Interpreter&, const CallArguments&) -> Value {
        fail("lipsum is outside the supported subset of Jinja2");
      });
  return names;
}

}  // namespace ffpa_jit::codegen

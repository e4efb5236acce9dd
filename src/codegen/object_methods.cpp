// Methods of `loop` and of cyclers.
#include "codegen/failure.h"
#include "codegen/interpreter.h"
#include "codegen/interpreter_objects.h"
#include "codegen/methods.h"
#include "codegen/operators.h"

namespace ffpa_jit::codegen {
namespace {

Value cycle(Interpreter&, const Value& self, const CallArguments& arguments) {
  if (arguments.positional.empty() || !arguments.keyword.empty())
    fail("loop.cycle needs at least one value");
  auto index = static_cast<size_t>(self.as<Loop>().index0);
  return arguments.positional[index % arguments.positional.size()];
}

Value changed(Interpreter& in, const Value& self, const CallArguments& arguments) {
  if (!arguments.keyword.empty()) fail("loop.changed takes no keyword arguments");
  Loop& loop = self.as<Loop>();
  Value now = in.heap().tuple(arguments.positional);
  if (!loop.last_changed.missing() && equals(in.heap(), loop.last_changed, now))
    return Value::boolean(false);
  loop.last_changed = now;
  return Value::boolean(true);
}

Value next(Interpreter&, const Value& self, const BoundArguments&) {
  Cycler& cycler = self.as<Cycler>();
  Value value = cycler.items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.size();
  return value;
}

Value reset(Interpreter&, const Value& self, const BoundArguments&) {
  self.as<Cycler>().position = 0;
  return Value::none();
}

const Method kOfLoops[] = {{"cycle", {}, nullptr, cycle}, {"changed", {}, nullptr, changed}};
const Method kOfCyclers[] = {{"next", {}, next}, {"reset", {}, reset}};

}  // namespace

const std::span<const Method> kLoopMethods(kOfLoops);
const std::span<const Method> kCyclerMethods(kOfCyclers);

}  // namespace ffpa_jit::codegen

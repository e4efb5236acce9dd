#include "codegen/arguments.h"

#include "codegen/failure.h"

namespace ffpa_jit::codegen {

BoundArguments bind(std::string_view function, const Parameters& parameters,
                    const CallArguments& arguments) {
  BoundArguments bound;
  size_t count = 0;
  while (count < Parameters::kMost && !parameters.names[count].empty()) ++count;
  if (arguments.positional.size() > count) {
    fail("{} takes at most {} argument(s), {} given", function, count, arguments.positional.size());
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) bound[i] = arguments.positional[i];
  for (const auto& [name, value] : arguments.keyword) {
    size_t i = 0;
    while (i < count && parameters.names[i] != name->text) ++i;
    if (i == count || parameters.positional_only) {
      fail("{} takes no keyword argument '{}'", function, name->text);
    }
    if (!bound[i].missing()) fail("{} got two values for '{}'", function, name->text);
    bound[i] = value;
  }
  for (size_t i = 0; i < parameters.required; ++i) {
    if (bound[i].missing()) fail("{} needs the argument '{}'", function, parameters.names[i]);
  }
  return bound;
}

}  // namespace ffpa_jit::codegen

// str.islower and str.isupper, for the methods and for the tests `lower` and `upper`.
#pragma once

#include <string_view>

namespace ffpa_jit::codegen {

// All cased characters are lower (upper) case, and there is one.
bool is_lower_text(std::string_view text);
bool is_upper_text(std::string_view text);

}  // namespace ffpa_jit::codegen

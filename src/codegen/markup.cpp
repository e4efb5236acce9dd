#include "codegen/markup.h"

namespace ffpa_jit::codegen {

std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Value concatenate_text(Heap& heap, const String& a, const String& b) {
  heap.charge_bytes(a.text.size() + b.text.size());
  bool markup = a.markup || b.markup;
  std::string left = markup && !a.markup ? escape_html(a.text) : a.text;
  return heap.string(left + (markup && !b.markup ? escape_html(b.text) : b.text), markup);
}

}  // namespace ffpa_jit::codegen

// Writes docs/environment.md from the table: the build target environment_document.
#include <fstream>

#include "policy/environment.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ofstream file(argv[1], std::ios::binary | std::ios::trunc);
  file << ffpa_jit::environment_document();
  return file.flush() ? 0 : 1;
}

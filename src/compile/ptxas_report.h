// Resources of a CUDA kernel: from the text that ptxas prints under -v, and from the cubin itself.
// The text alone knows spills; the cubin needs no text. Both are read for every kernel.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel_binary.h"

namespace ffpa_jit {

// Fields the text does not state stay -1 (code_bytes always).
KernelResources resources_in_ptxas_text(std::string_view log, std::string_view entry);

// Fields the file does not hold stay -1 (spill_bytes always). nullopt: no ELF, or `entry` is not in
// it.
std::optional<KernelResources> resources_in_cubin(std::span<const std::byte> cubin,
                                                  std::string_view entry, int compute_capability);

// `log` without the lines of the -v report: warnings and performance remarks.
std::string without_ptxas_report(std::string_view log);

// The lines that say ptxas gave up something the kernel was written for: "(C7510) ...
// wgmma.mma_async instructions are serialized", "(C7508) ... setmaxnreg ignored". Such a kernel is
// right and slow: a tuner drops the config, tests forbid it in shipped ones. Reads
// KernelBinary::log.
std::vector<std::string> performance_losses(std::string_view log);

}  // namespace ffpa_jit

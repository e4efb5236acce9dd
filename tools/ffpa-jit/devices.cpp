// ffpa-jit devices: what --device can name on this machine.
#include <CLI/CLI.hpp>

#include "device/cuda/cuda_device.h"
#include "ffpa-jit/output.h"
#include "ffpa-jit/session.h"

namespace ffpa_jit::cli {
namespace {

Json device_json(const DeviceInfo& info) {
  return {{"device", info.text},
          {"name", info.name},
          {"target", text_of(info.target)},
          {"identity", info.identity},
          {"multiprocessors", info.multiprocessors},
          {"shared_bytes_per_block", info.shared_bytes_per_block},
          {"memory_bytes", info.memory_bytes},
          {"warp_size", info.warp_size}};
}

int devices(const Session& session) {
  const ffpa::Runtime runtime = open_runtime(session);
  std::vector<DeviceInfo> found{inside(runtime).devices().open({TargetKind::kCpu, 0})->info()};
  std::string why_none;
  for (DeviceInfo& each : list_cuda_devices(&why_none)) found.push_back(std::move(each));
  if (session.json) {
    Json out = Json::array();
    for (const DeviceInfo& each : found) out.push_back(device_json(each));
    print_json({{"devices", out}, {"cuda_absent", why_none}});
    return kOk;
  }
  Table table({{"device"}, {"name"}, {"target"}, {"threads or SMs", true}, {"memory", true}});
  for (const DeviceInfo& each : found) {
    table.add({each.text, each.name, text_of(each.target), std::to_string(each.multiprocessors),
               byte_count(each.memory_bytes)});
  }
  table.print();
  if (!why_none.empty()) fmt::print(stderr, "no CUDA device: {}\n", why_none);
  return kOk;
}

}  // namespace

void add_devices_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("devices", "List the devices that --device can name here");
  add_common_options(*command, session);
  command->callback([&session] { session.action = [&session] { return devices(session); }; });
}

}  // namespace ffpa_jit::cli

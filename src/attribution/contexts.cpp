#include "attribution/contexts.h"

#include <algorithm>
#include <cmath>

#include "attribution/context_tree.h"
#include "attribution/gpu_contexts.h"
#include "attribution/kernels.h"
#include "attribution/topdown_mapping.h"
#include "base/text.h"

namespace fathom {
namespace {

/// "<gpu kernel>" and its like, as HPCToolkit names them.
std::string placeholder(GpuOperationKind kind) {
  switch (kind) {
    case GpuOperationKind::kernel:
      return "<gpu kernel>";
    case GpuOperationKind::copy:
      return "<gpu copy>";
    case GpuOperationKind::memory_set:
      return "<gpu memset>";
    case GpuOperationKind::allocate:
      return "<gpu alloc>";
    case GpuOperationKind::release:
      return "<gpu free>";
    case GpuOperationKind::synchronize:
      return "<gpu sync>";
  }
  return "<gpu operation>";
}

/// Static memory of GPU code comes with loading the code and goes with it: no call asks for it.
bool comes_with_loading(const GpuOperation& operation) {
  return (operation.kind == GpuOperationKind::allocate ||
          operation.kind == GpuOperationKind::release) &&
         (operation.memory_kind == MemoryKind::device_static ||
          operation.memory_kind == MemoryKind::managed_static);
}

class ContextBuilder {
 public:
  ContextBuilder(const Measurement& measurement, const std::vector<ProcessSamples>& samples,
                 Attribution& attribution)
      : measurement_(measurement),
        samples_(samples),
        attribution_(attribution),
        profile_(attribution.profile),
        tree_(profile_.contexts),
        kernels_(profile_.devices) {}

  void run() {
    for (size_t p = 0; p < measurement_.processes.size(); ++p)
      add_process(measurement_.processes[p], samples_[p]);
    profile_.kernels = kernels_.summaries();
    metrics_.store(profile_);
    fill_kernels();
    warn();
  }

 private:
  struct Launches {
    std::map<uint32_t, double> seconds;  ///< by the kernel's function node
    std::map<uint32_t, std::map<uint32_t, uint32_t>>
        by_correlation;  ///< correlation -> function -> node
  };

  void add_process(const Process& process, const ProcessSamples& samples) {
    program_ = file_name(process.executable);
    uint32_t context = tree_.child({ContextTree::kRoot,
                                    ContextKind::process,
                                    format("%s (process %u)", program_.c_str(), process.pid),
                                    "",
                                    {},
                                    process.pid,
                                    kNoId});
    add_devices(process);
    find_functions(process, samples);
    std::map<uint32_t, Launches> launches;  // by function
    CpuContexts cpu(measurement_, process, context, tree_);
    for (const GpuOperation& operation : process.operations)
      add_operation(process, operation, cpu, launches);
    add_samples(process, samples, context, launches);
    if (process.sampling.period_log2) {
      uint64_t attributed = 0;
      for (const auto& [key, by_instruction] : samples)
        for (const auto& [instruction, counts] : by_instruction) attributed += counts.total();
      metrics_.add(context, "GSAMP:TOT",
                   double(process.sampling.total - process.sampling.dropped - attributed));
      metrics_.add(context, "GSAMP:DRP", double(process.sampling.dropped));
    }
  }

  void add_devices(const Process& process) {
    device_index_.clear();
    for (DeviceFacts device : process.devices) {
      device.process = 0;
      auto same = std::find_if(profile_.devices.begin(), profile_.devices.end(),
                               [&](const DeviceFacts& known) {
                                 return known.id == device.id && known.name == device.name;
                               });
      device_index_[device.id] = static_cast<uint32_t>(same - profile_.devices.begin());
      if (same == profile_.devices.end()) profile_.devices.push_back(device);
    }
  }

  /// Which sampled function a kernel's name means in this process.
  void find_functions(const Process& process, const ProcessSamples& samples) {
    function_of_.clear();
    for (const auto& [key, counts] : samples)
      function_of_.emplace(attribution_.functions[key.function].mangled, key.function);
    for (const LoadedGpuBinary& binary : process.binaries)
      for (uint32_t f = 0; f < attribution_.functions.size(); ++f)
        if (attribution_.functions[f].binary == binary.sha256)
          function_of_.emplace(attribution_.functions[f].mangled, f);
  }

  void add_operation(const Process& process, const GpuOperation& operation, CpuContexts& cpu,
                     std::map<uint32_t, Launches>& launches) {
    bool known = false;
    uint32_t parent = cpu.of_call(operation.correlation, known);
    operations_without_call_ += !known && !comes_with_loading(operation);
    uint32_t context = tree_.child(
        {parent, ContextKind::gpu_operation, placeholder(operation.kind), "", {}, 0, kNoId});
    double seconds = operation.end_ns > operation.start_ns
                         ? double(operation.end_ns - operation.start_ns) * 1e-9
                         : 0;
    switch (operation.kind) {
      case GpuOperationKind::kernel:
        return add_kernel(process, operation, context, seconds, launches);
      case GpuOperationKind::copy: {
        metrics_.add(context, "GXCOPY", seconds);
        metrics_.add(context, "GXCOPY:COUNT", 1);
        metrics_.add(context, "GXCOPY:" + std::string(code_of(operation.copy_kind)),
                     double(operation.bytes));
        return;
      }
      case GpuOperationKind::memory_set: {
        metrics_.add(context, "GMSET", seconds);
        metrics_.add(context, "GMSET:COUNT", 1);
        metrics_.add(context, "GMSET:" + std::string(code_of(operation.memory_kind)),
                     double(operation.bytes));
        return;
      }
      case GpuOperationKind::allocate:
      case GpuOperationKind::release: {
        metrics_.add(context, "GMEM", seconds);
        metrics_.add(context, "GMEM:COUNT", 1);
        metrics_.add(context, "GMEM:" + std::string(code_of(operation.memory_kind)),
                     double(operation.bytes));
        return;
      }
      case GpuOperationKind::synchronize: {
        metrics_.add(context, "GSYNC", seconds);
        metrics_.add(context, "GSYNC:COUNT", 1);
        metrics_.add(context, "GSYNC:" + std::string(code_of(operation.sync_kind)), seconds);
        return;
      }
    }
  }

  void add_kernel(const Process& process, const GpuOperation& operation, uint32_t context,
                  double seconds, std::map<uint32_t, Launches>& launches) {
    auto device_number = process.context_device.find(operation.context);
    auto device = device_index_.find(
        device_number == process.context_device.end() ? operation.device : device_number->second);
    uint32_t device_index = device == device_index_.end() ? kNoId : device->second;
    auto named = function_of_.find(operation.name);
    uint32_t function = named == function_of_.end() ? kNoId : named->second;
    kernels_.add(operation, program_, device_index, function, context);
    Context node_facts{context, ContextKind::gpu_function, demangle(operation.name), "", {}, 0,
                       function};
    if (function != kNoId) node_facts.module = attribution_.functions[function].binary;
    uint32_t node = tree_.child(std::move(node_facts));
    if (function != kNoId) {
      launches[function].seconds[node] += seconds;
      launches[function].by_correlation[operation.correlation][function] = node;
    }
    const LaunchShape& shape = operation.shape;
    Occupancy occupancy = kernels_.occupancy(device_index, shape);
    metrics_.add(node, "GKER", seconds);
    metrics_.add(node, "GKER:COUNT", 1);
    if (process.sampling.period_log2 && device_index != kNoId) {
      // Each multiprocessor takes one sample a period.
      const DeviceFacts& facts = profile_.devices[device_index];
      double cycles = seconds * 1e3 * double(facts.core_clock_khz);
      metrics_.add(node, "GSAMP:EXP",
                   std::ldexp(cycles * facts.multiprocessors,
                              -static_cast<int>(process.sampling.period_log2)));
    }
    metrics_.add(node, "GKER:BLK_MEM",
                 double(shape.static_shared_memory) + shape.dynamic_shared_memory);
    metrics_.add(node, "GKER:BLK_MEM:STAT", shape.static_shared_memory);
    metrics_.add(node, "GKER:BLK_MEM:DYN", shape.dynamic_shared_memory);
    metrics_.add(node, "GKER:THR_MEM", shape.local_memory_per_thread);
    metrics_.add(node, "GKER:THR_REG", shape.registers_per_thread);
    metrics_.add(node, "GKER:WRP_ACT_T", occupancy.active_warps);
    metrics_.add(node, "GKER:WRP_AVL", occupancy.available_warps);
    metrics_.add(node, "GKER:BLK_THR", double(shape.threads_per_block()));
    metrics_.add(node, "GKER:BLKS_AVG", double(shape.blocks()));
  }

  void add_samples(const Process& process, const ProcessSamples& samples, uint32_t process_context,
                   const std::map<uint32_t, Launches>& launches) {
    GpuCalls calls = find_gpu_calls(attribution_.functions, samples);
    double cycles = std::ldexp(1.0, static_cast<int>(process.sampling.period_log2));
    GpuContexts gpu(attribution_, samples, calls, cycles, tree_, metrics_);
    for (const auto& [function, launched] : launches) {
      if (process.sampling.serialized) {
        for (const auto& [correlation, nodes] : launched.by_correlation)
          for (const auto& [kernel, node] : nodes) gpu.add_exact(node, kernel, correlation);
        continue;
      }
      if (!calls.is_root[function]) continue;
      double total = 0;
      for (const auto& [node, seconds] : launched.seconds) total += seconds;
      shared_contexts_ = shared_contexts_ || launched.seconds.size() > 1;
      for (const auto& [node, seconds] : launched.seconds)
        gpu.add_shared(node, function,
                       total > 0 ? seconds / total : 1.0 / double(launched.seconds.size()));
    }
    gpu.add_unclaimed(process_context);
    remember_shares(samples, calls, launches);
  }

  /// Which part of each function's samples belongs to which kernel of this program.
  void remember_shares(const ProcessSamples& samples, const GpuCalls& calls,
                       const std::map<uint32_t, Launches>& launches) {
    std::vector<std::map<uint32_t, double>> fractions = calls.fractions();
    std::map<uint32_t, double> totals;
    for (const auto& [key, by_instruction] : samples)
      for (const auto& [instruction, counts] : by_instruction)
        totals[key.function] += double(counts.total());
    for (const auto& [function, total] : totals)
      for (const auto& [root, fraction] : fractions[function])
        if (launches.count(root)) shares_[{program_, root}][function] += fraction * total;
  }

  void fill_kernels() {
    attribution_.kernel_functions.resize(profile_.kernels.size());
    std::vector<double> totals(attribution_.functions.size());
    for (size_t f = 0; f < totals.size(); ++f)
      totals[f] = double(attribution_.functions[f].total().total());
    for (size_t k = 0; k < profile_.kernels.size(); ++k) {
      KernelSummary& kernel = profile_.kernels[k];
      if (kernel.function == kNoId) continue;
      // Launches of one kernel on several devices share its samples by time.
      double all = 0;
      for (const KernelSummary& other : profile_.kernels)
        if (other.program == kernel.program && other.function == kernel.function)
          all += other.seconds;
      double part = all > 0 ? kernel.seconds / all : 1;
      auto& parts = attribution_.kernel_functions[k];
      for (const auto& [function, amount] : shares_[{kernel.program, kernel.function}])
        if (totals[function] > 0) parts.push_back({function, part * amount / totals[function]});
      std::stable_partition(parts.begin(), parts.end(),
                            [&](const FunctionShare& s) { return s.function == kernel.function; });
      sum_samples(kernel, parts);
    }
  }

  void sum_samples(KernelSummary& kernel, const std::vector<FunctionShare>& parts) {
    std::array<double, kStallReasonCount> all{}, latency{};
    for (const FunctionShare& part : parts) {
      const AnalyzedFunction& function = attribution_.functions[part.function];
      StallCounts total = function.total();
      for (size_t r = 0; r < kStallReasonCount; ++r) {
        all[r] += part.fraction * double(total.all[r]);
        latency[r] += part.fraction * double(total.latency[r]);
      }
      for (const TopDownCounts& counts : function.topdown)
        for (size_t t = 0; t < kTopDownCount; ++t)
          kernel.topdown.own[t] += part.fraction * counts.own[t];
    }
    for (size_t r = 0; r < kStallReasonCount; ++r) {
      kernel.samples.all[r] = static_cast<uint64_t>(std::llround(all[r]));
      kernel.samples.latency[r] = static_cast<uint64_t>(std::llround(latency[r]));
    }
    kernel.coverage_before = attribution_.functions[kernel.function].coverage_before;
    kernel.coverage_after = attribution_.functions[kernel.function].coverage_after;
  }

  void warn() {
    if (operations_without_call_)
      profile_.warnings.push_back(
          {WarningSeverity::note,
           format("%s GPU operations have no recorded call and stand directly below their process",
                  human_count(operations_without_call_).c_str()),
           "", ""});
    if (shared_contexts_)
      profile_.warnings.push_back(
          {WarningSeverity::note,
           "continuous sampling does not say which launch a sample belongs to: the samples of a "
           "kernel that was launched "
           "from several places are shared among them by kernel time",
           "", "record with -e gpu=cuda,pc=serialized for exact ones, at a much higher cost"});
  }

  const Measurement& measurement_;
  const std::vector<ProcessSamples>& samples_;
  Attribution& attribution_;
  Profile& profile_;
  ContextTree tree_;
  MetricTable metrics_;
  KernelTable kernels_;
  std::string program_;
  std::map<uint32_t, uint32_t> device_index_;
  std::map<std::string, uint32_t> function_of_;
  std::map<std::pair<std::string, uint32_t>, std::map<uint32_t, double>> shares_;
  uint64_t operations_without_call_ = 0;
  bool shared_contexts_ = false;
};

}  // namespace

void attribute_contexts(const Measurement& measurement, const std::vector<ProcessSamples>& samples,
                        Attribution& attribution) {
  ContextBuilder(measurement, samples, attribution).run();
}

}  // namespace fathom

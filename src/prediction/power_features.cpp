// Features of the models of power: what happens in a cycle of a multiprocessor, by the predicted
// time, and shares that need no time.

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "prediction/power.h"

namespace fathom {
namespace {

class Features {
 public:
  Features(const KernelPrediction& prediction, const MachineModel& machine)
      : prediction_(prediction),
        counts_(prediction.activity),
        cycles_(prediction.time_us * machine.prediction->clock_mhz *
                std::max(1u, machine.multiprocessors)) {
    for (size_t i = 0; i <= static_cast<size_t>(Count::other); ++i)
      instructions_ += counts_.values[i];
  }

  std::vector<std::pair<std::string_view, double>> all() {
    rates();
    shares();
    launch();
    return std::move(out_);
  }

 private:
  void add(std::string_view name, double value) {
    out_.emplace_back(name, std::isfinite(value) ? value : 0);
  }
  /// Events in a cycle of a multiprocessor, those that stand still counted in.
  void rate(std::string_view name, std::initializer_list<Count> counts) {
    double sum = 0;
    for (Count each : counts) sum += counts_[each];
    add(name, sum / cycles_);
  }
  void rates() {
    for (auto i = static_cast<size_t>(Count::integer);
         i <= static_cast<size_t>(Count::cycles_memory); ++i)
      rate(name_of(static_cast<Count>(i)), {static_cast<Count>(i)});
    add("issue", instructions_ / cycles_);
    rate("registers_moved", {Count::registers_read, Count::registers_written});
    rate("multiplications", {Count::integer_multiply, Count::integer_multiply_wide});
    rate("controlling", {Count::control, Count::barrier, Count::predicate});
    rate("constants", {Count::uniform, Count::special_register, Count::load_constant});
    rate("shared_passes", {Count::shared_passes_read, Count::shared_passes_written});
    rate("exchanges", {Count::shuffle, Count::vote});
    rate("global_accesses", {Count::load_global, Count::store_global});
    rate("l2_atomic", {Count::l2_sectors_atomic, Count::atomic_lanes_hot});
  }

  void shares() {
    const auto share = [&](std::string_view name, std::initializer_list<Count> counts,
                           double unit = 1) {
      double sum = 0;
      for (Count each : counts) sum += counts_[each];
      add(name, sum / unit / std::max(1.0, instructions_));
    };
    share("of_lanes", {Count::lanes}, 32);
    share("of_integer_lanes", {Count::lanes_integer}, 32);
    share("of_fp32_lanes", {Count::lanes_fp32}, 32);
    share("of_integer", {Count::integer});
    share("of_fp32", {Count::fp32});
    share("of_multiply_add", {Count::fp32_multiply_add});
    share("of_fp64", {Count::fp64});
    share("of_special", {Count::special});
    share("of_control", {Count::control});
    share("of_load_global", {Count::load_global});
    share("of_load_shared", {Count::load_shared});
    share("of_global", {Count::load_global, Count::store_global});
    share("of_registers", {Count::registers_read, Count::registers_written});
    share("of_l1_sectors", {Count::l1_sectors});
    share("of_l2_read", {Count::l2_sectors_read});
    share("of_dram_read", {Count::dram_bytes_read});
    const double beyond = counts_[Count::l2_sectors_read] + counts_[Count::l2_sectors_written];
    add("l2_of_l1", beyond / std::max(1.0, counts_[Count::l1_sectors]));
    add("sectors_of_line", counts_[Count::l1_sectors] / std::max(1.0, counts_[Count::l1_lines]));
  }

  void launch() {
    const double time = prediction_.time_us;
    const double busy = std::max(0.0, 1 - prediction_.launch_us / time);
    const double active = counts_[Count::active_share], warps = counts_[Count::resident_warps];
    add("busy", busy);
    add("active", active);
    add("busy_active", busy * active);
    add("warps_resident", warps);
    add("warps_running", warps * active * busy);
    add("balance", counts_[Count::balance]);
    add("registers", counts_[Count::registers]);
    add("block_threads", counts_[Count::block_threads]);
    add("log_blocks", std::log1p(counts_[Count::blocks]));
    add("log_warps", std::log1p(counts_[Count::warps]));
    add("log_waves", std::log1p(counts_[Count::waves]));
    add("log_shared", std::log1p(counts_[Count::block_shared_bytes]));
    add("log_footprint", std::log1p(counts_[Count::footprint_bytes]));
    add("log_time", std::log(time));
    add("compute_bound", counts_[Count::compute_us] / time);
    add("memory_bound", counts_[Count::memory_us] / time);
    add("log_list", std::log(counts_[Count::list_us] / time));
    add("log_delay", std::log(counts_[Count::delay_us] / time));
  }

  const KernelPrediction& prediction_;
  const Activity& counts_;
  double cycles_, instructions_ = 0;
  std::vector<std::pair<std::string_view, double>> out_;
};

}  // namespace

std::vector<std::pair<std::string_view, double>> power_features(const KernelPrediction& prediction,
                                                                const MachineModel& machine) {
  return Features(prediction, machine).all();
}

}  // namespace fathom

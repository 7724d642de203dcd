#include "app/events.h"

#include <charconv>

#include "base/text.h"

namespace fathom {
namespace {

constexpr uint32_t kMinPeriod = 5, kMaxPeriod = 31;
constexpr uint32_t kMaxNumaSampling = 16;

Error usage(const std::string& event, const std::string& what, const std::string& hint) {
  return Error{ErrorKind::usage, "event `" + event + "`: " + what, "", hint};
}

Result<uint32_t> parse_period(const std::string& event, std::string_view text) {
  uint32_t period = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), period);
  if (error != std::errc() || end != text.data() + text.size() || period < kMinPeriod ||
      period > kMaxPeriod)
    return usage(event, format("`%.*s` is no sampling period", int(text.size()), text.data()),
                 "write pc@K with K from 5 to 31: one sample each 2^K cycles of a multiprocessor");
  return period;
}

/// One attribute of gpu=cuda: "pc", "pc=continuous", "pc=serialized", each perhaps with "@K".
Result<Done> parse_attribute(const std::string& event, std::string_view text, EventSet& out) {
  std::string_view mode = text;
  uint32_t period = 0;
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    mode = text.substr(0, at);
    auto parsed = parse_period(event, text.substr(at + 1));
    if (!parsed) return parsed.error();
    period = *parsed;
  }
  auto sampling = EventSet::Sampling::none;
  if (mode == "pc" || mode == "pc=continuous") sampling = EventSet::Sampling::continuous;
  if (mode == "pc=serialized") sampling = EventSet::Sampling::serialized;
  if (sampling == EventSet::Sampling::none)
    return usage(event, format("no attribute `%.*s`", int(text.size()), text.data()),
                 "gpu=cuda takes pc, pc=continuous or pc=serialized, each with @K if wanted");
  const bool other_mode =
      out.cuda_sampling != EventSet::Sampling::none && out.cuda_sampling != sampling;
  const bool other_period =
      period != 0 && out.cuda_period_log2 != 0 && out.cuda_period_log2 != period;
  if (other_mode || other_period)
    return usage(event, "contradicts an earlier event", "ask for one way of sampling");
  out.cuda_sampling = sampling;
  if (period != 0) out.cuda_period_log2 = period;
  return Done{};
}

/// "numa", perhaps with "@K".
Result<Done> parse_numa(const std::string& event, EventSet& out) {
  uint32_t sampling = 0;
  if (const size_t at = event.find('@'); at != std::string::npos) {
    const char* end = event.data() + event.size();
    const auto [stop, error] = std::from_chars(event.data() + at + 1, end, sampling);
    if (error != std::errc() || stop != end || sampling > kMaxNumaSampling)
      return usage(event, format("`%s` is no sampling", event.c_str() + at + 1),
                   "write numa@K with K from 0 to 16: one of 2^K intervals of 1 ms is counted");
  }
  if (out.numa && out.numa_sampling != sampling)
    return usage(event, "contradicts an earlier event", "ask for one way of sampling");
  out.numa = true;
  out.numa_sampling = sampling;
  return Done{};
}

Result<Done> parse_event(const std::string& event, EventSet& out) {
  if (event == "numa" || starts_with(event, "numa@")) return parse_numa(event, out);
  const auto parts = split(event, ',');
  if (parts.empty() || parts[0] != "gpu=cuda")
    return usage(event, "there is no such event here", "`fathom record -L` lists what there is");
  out.cuda = true;
  for (size_t i = 1; i < parts.size(); ++i)
    if (auto done = parse_attribute(event, parts[i], out); !done) return done.error();
  return Done{};
}

}  // namespace

Result<EventSet> parse_events(const std::vector<std::string>& events) {
  EventSet out;
  out.cuda_period_log2 = 0;  // until an event says one
  const auto wanted = events.empty() ? std::vector<std::string>{"gpu=cuda"} : events;
  for (const auto& event : wanted)
    if (auto done = parse_event(event, out); !done) return done.error();
  if (out.cuda_period_log2 == 0) out.cuda_period_log2 = kDefaultCudaPeriodLog2;
  out.text = join(wanted, " ");
  return out;
}

}  // namespace fathom

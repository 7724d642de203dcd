#include "cuda/pc_sampling.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "core/session.h"

namespace fathom::collect::cuda {

using record::ChunkType;
using record::Severity;

PcSampling::Buffer::Buffer(size_t pc_count, size_t reason_count)
    : pcs(pc_count), reasons(pc_count * reason_count) {
  data.size = sizeof data;
  data.collectNumPcs = pc_count;
  data.pPcData = pcs.data();
  for (size_t i = 0; i < pc_count; ++i) {
    pcs[i].size = sizeof pcs[i];
    pcs[i].stallReason = reasons.data() + i * reason_count;
  }
}

size_t PcSampling::SampleHash::operator()(const Sample& sample) const {
  uint64_t hash = sample.crc * 0x9e3779b97f4a7c15u;
  for (const uint64_t part :
       {sample.pc_offset, uint64_t(sample.function) << 32 | sample.correlation,
        uint64_t(sample.stall_reason) << 32 | sample.context})
    hash = (hash ^ hash >> 29 ^ part) * 0xbf58476d1ce4e5b9u;
  return hash ^ hash >> 32;
}

/// For threads of the program: they must not wait for ever on the collector's thread, which might
/// in turn wait, inside CUPTI, for a lock of the driver that they hold.
bool PcSampling::lock_bounded() {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  return pthread_mutex_timedlock(&lock_, &until) == 0;
}

PcSampling::Context* PcSampling::find(CUcontext handle) {
  for (auto& context : contexts_)
    if (context->handle == handle) return context.get();
  return nullptr;
}

/// Writes the names of the stall reasons when they are first learnt; returns how many there are.
size_t PcSampling::fetch_stall_reasons(CUcontext context) {
  size_t count = 0;
  CUpti_PCSamplingGetNumStallReasonsParams how_many{};
  how_many.size = CUpti_PCSamplingGetNumStallReasonsParamsSize;
  how_many.ctx = context;
  how_many.numStallReasons = &count;
  if (cupti_.cuptiPCSamplingGetNumStallReasons(&how_many) != CUPTI_SUCCESS || count == 0) return 0;

  std::vector<uint32_t> indices(count);
  std::vector<char> text(count * CUPTI_STALL_REASON_STRING_SIZE);
  std::vector<char*> names(count);
  for (size_t i = 0; i < count; ++i) names[i] = text.data() + i * CUPTI_STALL_REASON_STRING_SIZE;
  CUpti_PCSamplingGetStallReasonsParams which{};
  which.size = CUpti_PCSamplingGetStallReasonsParamsSize;
  which.ctx = context;
  which.numStallReasons = count;
  which.stallReasonIndex = indices.data();
  which.stallReasons = names.data();
  if (cupti_.cuptiPCSamplingGetStallReasons(&which) != CUPTI_SUCCESS) return 0;
  if (reason_count_ != 0) return count;
  Locked locked(file_.lock());
  for (size_t i = 0; i < count; ++i)
    file_.out().add_text(ChunkType::stall_reason, record::StallReasonName{indices[i]}, {names[i]});
  return count;
}

CUptiResult PcSampling::configure(Context& context) {
  std::vector<CUpti_PCSamplingConfigurationInfo> attributes(1);
  attributes[0].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE;
  attributes[0].attributeData.collectionModeData.collectionMode =
      options_.mode == record::SamplingMode::serialized
          ? CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED
          : CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
  attributes.emplace_back();
  attributes.back().attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER;
  attributes.back().attributeData.samplingDataBufferData.samplingDataBuffer = &context.last->data;
  if (options_.period_log2 != 0) {
    attributes.emplace_back();
    attributes.back().attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
    attributes.back().attributeData.samplingPeriodData.samplingPeriod = options_.period_log2;
  }
  CUpti_PCSamplingConfigurationInfoParams set{};
  set.size = CUpti_PCSamplingConfigurationInfoParamsSize;
  set.ctx = context.handle;
  set.numAttributes = attributes.size();
  set.pPCSamplingConfigurationInfo = attributes.data();
  const CUptiResult result = cupti_.cuptiPCSamplingSetConfigurationAttribute(&set);
  if (result != CUPTI_SUCCESS) return result;

  CUpti_PCSamplingConfigurationInfo period{};
  period.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
  CUpti_PCSamplingConfigurationInfoParams get = set;
  get.numAttributes = 1;
  get.pPCSamplingConfigurationInfo = &period;
  if (cupti_.cuptiPCSamplingGetConfigurationAttribute(&get) == CUPTI_SUCCESS)
    context.period_log2 = period.attributeData.samplingPeriodData.samplingPeriod;
  if (options_.period_log2 != 0) context.period_log2 = options_.period_log2;
  return CUPTI_SUCCESS;
}

void PcSampling::start(CUcontext handle, uint32_t id) {
  Locked locked(lock_);
  if (failed_) return;
  if (!cupti_.can_sample()) {
    failed_ = true;
    Session::get().message(Severity::error, 0, cupti_.path() + " cannot sample program counters",
                           "use the CUPTI of CUDA 11.3 or later (FATHOM_CUPTI)");
    return;
  }
  auto context = std::make_unique<Context>();
  context->handle = handle;
  context->id = id;
  CUpti_PCSamplingEnableParams enable{};
  enable.size = CUpti_PCSamplingEnableParamsSize;
  enable.ctx = handle;
  CUptiResult result = cupti_.cuptiPCSamplingEnable(&enable);
  if (result == CUPTI_SUCCESS) {
    const size_t reasons = fetch_stall_reasons(handle);
    if (reasons > reason_count_) {
      reason_count_ = reasons;
      buffer_ = std::make_unique<Buffer>(kPcsAtOnce, reason_count_);
    }
    context->last = std::make_unique<Buffer>(kPcsAtOnce, reason_count_);
    result = reasons == 0 ? CUPTI_ERROR_NOT_SUPPORTED : configure(*context);
    if (result != CUPTI_SUCCESS) {
      CUpti_PCSamplingDisableParams disable{};
      disable.size = CUpti_PCSamplingDisableParamsSize;
      disable.ctx = handle;
      cupti_.cuptiPCSamplingDisable(&disable);
    }
  }
  if (result == CUPTI_SUCCESS) {
    contexts_.push_back(std::move(context));
    return;
  }
  failed_ = true;
  Session::get().message(Severity::error, static_cast<uint32_t>(result),
                         "PC sampling is off: " + cupti_.describe(result), remedy(result));
}

/// Fetches until nothing remains. False if CUPTI refused.
bool PcSampling::drain(Context& context) {
  if (context.handle == nullptr || buffer_ == nullptr) return false;
  for (;;) {
    auto& data = buffer_->data;
    data.totalSamples = data.droppedSamples = data.nonUsrKernelsTotalSamples = 0;
    data.totalNumPcs = data.remainingNumPcs = 0;
    data.hardwareBufferFull = 0;
    CUpti_PCSamplingGetDataParams get{};
    get.size = CUpti_PCSamplingGetDataParamsSize;
    get.ctx = context.handle;
    get.pcSamplingData = &data;
    const CUptiResult result = cupti_.cuptiPCSamplingGetData(&get);
    ++statistics_.fetches;
    if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_OUT_OF_MEMORY) return false;
    if (result == CUPTI_ERROR_OUT_OF_MEMORY) data.hardwareBufferFull = 1;
    take(context, data);
    if (result != CUPTI_SUCCESS || data.remainingNumPcs == 0 || data.totalNumPcs == 0) return true;
  }
}

void PcSampling::take(Context& context, const CUpti_PCSamplingData& data) {
  auto& summary = context.summary;
  summary.total_samples += data.totalSamples;
  summary.dropped_samples += data.droppedSamples;
  summary.non_user_samples += data.nonUsrKernelsTotalSamples;
  summary.hardware_buffer_full |= data.hardwareBufferFull;
  if (data.hardwareBufferFull != 0 && !told_full_) {
    told_full_ = true;
    Session::get().message(Severity::warning, CUPTI_ERROR_OUT_OF_MEMORY,
                           "the GPU's buffer of samples ran full, and samples were lost",
                           "sample less often: pc@K with a larger K");
  }
  const size_t count = std::min(data.totalNumPcs, data.collectNumPcs);
  for (size_t i = 0; i < count; ++i) {
    const auto& pc = data.pPcData[i];
    ++statistics_.records;
    auto [known, fresh] = names_.try_emplace(pc.functionName, 0);
    if (fresh) {
      Locked locked(file_.lock());
      known->second = file_.name(pc.functionName);
      ++statistics_.names;
    }
    Sample sample{pc.cubinCrc, pc.pcOffset,      known->second, pc.functionIndex,
                  0,           pc.correlationId, context.id};
    if (options_.mode == record::SamplingMode::continuous) sample.correlation = 0;
    for (size_t k = 0; k < std::min(pc.stallReasonCount, reason_count_); ++k) {
      if (pc.stallReason[k].samples == 0) continue;
      sample.stall_reason = pc.stallReason[k].pcSamplingStallReasonIndex;
      samples_[sample] += pc.stallReason[k].samples;
    }
  }
}

void PcSampling::drain_all() {
  Locked locked(lock_);
  for (auto& context : contexts_)
    if (loading_.load() == 0) drain(*context);
}

void PcSampling::drain_before_unload(CUcontext handle) {
  if (!lock_bounded()) return;
  if (auto* context = find(handle)) drain(*context);
  pthread_mutex_unlock(&lock_);
}

void PcSampling::begin_loading() {
  loading_.fetch_add(1);
  if (lock_bounded()) pthread_mutex_unlock(&lock_);  // what is being fetched has been fetched now
}

void PcSampling::end_loading() {
  loading_.fetch_sub(1);
}

void PcSampling::stop(Context& context) {
  drain(context);
  CUpti_PCSamplingDisableParams disable{};
  disable.size = CUpti_PCSamplingDisableParamsSize;
  disable.ctx = context.handle;
  // What CUPTI could still decode comes in the buffer that it was given at the start.
  if (cupti_.cuptiPCSamplingDisable(&disable) == CUPTI_SUCCESS) take(context, context.last->data);
  context.handle = nullptr;
  context.last.reset();
}

void PcSampling::stop(CUcontext handle) {
  if (!lock_bounded()) return;
  if (auto* context = find(handle)) stop(*context);
  pthread_mutex_unlock(&lock_);
}

void PcSampling::stop_all() {
  Locked locked(lock_);
  for (auto& context : contexts_)
    if (context->handle != nullptr) stop(*context);
  for (auto& [name, id] : names_) std::free(name);
  names_.clear();
}

void PcSampling::write() {
  Locked locked(lock_);
  Locked file_locked(file_.lock());
  for (auto [sample, left] : samples_) {
    record::PcSample out{
        sample.crc, sample.pc_offset,   sample.function, sample.function_index, sample.stall_reason,
        0,          sample.correlation, sample.context};
    for (; left > 0; left -= out.samples) {
      out.samples =
          static_cast<uint32_t>(std::min<uint64_t>(left, std::numeric_limits<uint32_t>::max()));
      file_.out().add(ChunkType::pc_sample, out);
    }
  }
  samples_.clear();
  for (auto& context : contexts_) {
    auto& summary = context->summary;
    if (summary.total_samples == 0 && summary.dropped_samples == 0 &&
        summary.hardware_buffer_full == 0)
      continue;
    summary.period_log2 = context->period_log2;
    summary.mode = options_.mode;
    summary.context = context->id;
    file_.out().add(ChunkType::sampling_summary, summary);
    summary = {};
  }
}

}  // namespace fathom::collect::cuda

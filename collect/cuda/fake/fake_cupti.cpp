// A test double of NVIDIA's CUPTI; see fake_cupti.h.

#include "cuda/fake/fake_cupti.h"

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_pcsampling.h>
#include <cupti_version.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

// The driver functions that the double knows; a callback id is an index. A gap as in the real list.
const char* const kFunctions[] = {nullptr,
                                  "cuInit",
                                  "cuLaunchKernel_ptsz",
                                  nullptr,
                                  "cuGraphLaunch",
                                  "cuMemcpyHtoDAsync_v2",
                                  "cuMemsetD8Async",
                                  "cuMemAlloc_v2",
                                  "cuCtxSynchronize",
                                  "cuModuleLoad",
                                  "cuModuleUnload",
                                  "cuLaunchHostFunc",
                                  "cuLaunchKernelEx",
                                  "cuLaunchCooperativeKernel"};
enum Function : uint32_t {
  kLaunch = 2,
  kGraph = 4,
  kCopy = 5,
  kSet = 6,
  kAllocate = 7,
  kSynchronize = 8,
  kLoad = 9,
  kUnload = 10,
  kLaunchExtensible = 12,
  kLaunchCooperative = 13
};

struct PendingPc {
  uint64_t offset;
  uint32_t reason, samples, correlation;
  std::string function;
};
struct Context {
  uint32_t id;
  bool sampling = false, serialized = false;
  CUpti_PCSamplingData* last = nullptr;
  std::vector<PendingPc> pending;
};

struct State {
  std::mutex lock;
  CUpti_CallbackFunc callback = nullptr;
  void* user = nullptr;
  std::set<uint32_t> calls, resources;
  CUpti_BuffersCallbackRequestFunc wanted = nullptr;
  CUpti_BuffersCallbackCompleteFunc completed = nullptr;
  std::set<uint32_t> kinds;
  uint8_t* buffer = nullptr;
  size_t size = 0, used = 0;
  std::map<void*, Context*> contexts;
  uint32_t next_context = 1;
  std::atomic<uint32_t> correlation{0};
};
State& state() {
  static State* const the_state = new State;
  return *the_state;
}

CUptiResult asked(const char* name) {
  const char* value = std::getenv(name);
  return static_cast<CUptiResult>(value == nullptr ? 0 : std::atoi(value));
}

uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return uint64_t(time.tv_sec) * 1000000000u + uint64_t(time.tv_nsec);
}

size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(CUpti_ActivityDevice5);
    default:
      std::abort();
  }
}

/// Hands the buffer over without holding the lock, as CUPTI does.
void deliver(uint8_t* buffer, size_t size, size_t used) {
  if (buffer != nullptr) state().completed(nullptr, 0, buffer, size, used);
}

template <class Record>
void deposit(const Record& record) {
  auto& s = state();
  uint8_t* full = nullptr;
  size_t full_size = 0, full_used = 0;
  {
    std::lock_guard guard(s.lock);
    if (s.kinds.count(record.kind) == 0) return;
    if (s.buffer != nullptr && s.used + sizeof record > s.size) {
      full = s.buffer, full_size = s.size, full_used = s.used;
      s.buffer = nullptr;
    }
    if (s.buffer == nullptr) {
      size_t most = 0;
      s.wanted(&s.buffer, &s.size, &most);
      s.used = 0;
    }
    if (s.buffer != nullptr) {
      std::memcpy(s.buffer + s.used, &record, sizeof record);
      s.used += sizeof record;
    }
  }
  deliver(full, full_size, full_used);
}

Context& context_of(void* handle) {
  auto& s = state();
  std::lock_guard guard(s.lock);
  return *s.contexts.at(handle);
}

/// What a launch is given, as the driver's callbacks show it.
struct Given {
  const void* parameters = nullptr;
  const char* kernel = nullptr;
};

void call_back(void* context, uint32_t function, CUpti_ApiCallbackSite site, uint32_t correlation,
               Given given = {}) {
  auto& s = state();
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = kFunctions[function];
  data.context = static_cast<CUcontext>(context);
  data.contextUid = context_of(context).id;
  data.correlationId = correlation;
  data.functionParams = given.parameters;
  data.symbolName = given.kernel;
  static thread_local uint64_t kept = 0;  // between the two sites of a call
  if (site == CUPTI_API_ENTER) kept = 0;
  data.correlationData = &kept;
  {
    std::lock_guard guard(s.lock);
    if (s.callback == nullptr || s.calls.count(function) == 0) return;
  }
  s.callback(s.user, CUPTI_CB_DOMAIN_DRIVER_API, function, &data);
}

void call_back_resource(void* context, uint32_t id, void* descriptor) {
  auto& s = state();
  {
    std::lock_guard guard(s.lock);
    if (s.callback == nullptr || s.resources.count(id) == 0) return;
  }
  CUpti_ResourceData data{};
  data.context = static_cast<CUcontext>(context);
  data.resourceDescriptor = descriptor;
  s.callback(s.user, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

void run_kernel(void* handle, uint32_t stream, const char* name, uint32_t correlation,
                uint32_t graph) {
  auto& context = context_of(handle);
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.name = name;
  kernel.start = now();
  kernel.end = kernel.start + 5000;
  kernel.contextId = context.id;
  kernel.streamId = stream;
  kernel.correlationId = correlation;
  kernel.gridX = 4, kernel.gridY = 3, kernel.gridZ = 2;
  kernel.blockX = 128, kernel.blockY = 2, kernel.blockZ = 1;
  kernel.clusterX = 2, kernel.clusterY = 1, kernel.clusterZ = 1;
  kernel.registersPerThread = 42;
  kernel.graphId = graph;
  deposit(kernel);
  std::lock_guard guard(state().lock);
  if (!context.sampling) return;
  const uint32_t id = context.serialized ? correlation : 0;
  context.pending.push_back({16, 1, kFakeSamplesPerLaunch - 4, id, name});
  context.pending.push_back({32, 2, 4, id, name});
}

/// Moves samples into a caller's buffer; returns how many remain.
void hand_over(Context& context, CUpti_PCSamplingData& out) {
  const size_t count = std::min(context.pending.size(), out.collectNumPcs);
  for (size_t i = 0; i < count; ++i) {
    const auto& in = context.pending[i];
    auto& pc = out.pPcData[i];
    pc.cubinCrc = kFakeCrc;
    pc.pcOffset = in.offset;
    pc.functionIndex = 7;
    pc.functionName = strdup(in.function.c_str());
    pc.stallReasonCount = 1;
    pc.stallReason[0] = {in.reason, in.samples};
    pc.correlationId = in.correlation;
    out.totalSamples += in.samples;
  }
  context.pending.erase(context.pending.begin(),
                        context.pending.begin() + static_cast<long>(count));
  out.totalNumPcs = count;
  out.remainingNumPcs = context.pending.size();
}

}  // namespace

FAKE void* fake_create_context() {
  auto& s = state();
  auto* context = new Context{};
  {
    std::lock_guard guard(s.lock);
    context->id = s.next_context++;
    s.contexts[context] = context;
  }
  CUpti_ActivityDevice5 device{};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.id = 0;
  device.name = "Fake GPU";
  device.numMultiprocessors = 132;
  device.computeCapabilityMajor = 9;
  if (context->id == 1) deposit(device);
  call_back_resource(context, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, nullptr);
  return context;
}

FAKE void fake_destroy_context(void* context) {
  call_back_resource(context, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, nullptr);
}

FAKE void fake_load_module(void* context, uint32_t module, const char* bytes, size_t size) {
  call_back(context, kLoad, CUPTI_API_ENTER, 0);
  CUpti_ModuleResourceData data{module, size, bytes};
  call_back_resource(context, CUPTI_CBID_RESOURCE_MODULE_LOADED, &data);
  call_back(context, kLoad, CUPTI_API_EXIT, 0);
}

FAKE void fake_unload_module(void* context, uint32_t module) {
  call_back(context, kUnload, CUPTI_API_ENTER, 0);
  CUpti_ModuleResourceData data{module, 0, nullptr};
  call_back_resource(context, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, &data);
  call_back(context, kUnload, CUPTI_API_EXIT, 0);
}

FAKE uint32_t fake_launch(void* context, uint32_t stream, const char* kernel) {
  const uint32_t id = ++state().correlation;
  call_back(context, kLaunch, CUPTI_API_ENTER, id);
  run_kernel(context, stream, kernel, id, 0);
  call_back(context, kLaunch, CUPTI_API_EXIT, id);
  return id;
}

FAKE uint32_t fake_launch_with(void* context, const char* kernel, const FakeLaunch* launch) {
  struct {
    void* function;
    unsigned grid[3], block[3], shared;
    void* stream;
    void **values, **extra;
  } plain{launch->handle, {4, 3, 2}, {128, 2, 1}, 0, nullptr, launch->values, launch->extra};
  struct {
    const void* config;
    void* function;
    void **values, **extra;
  } extensible{nullptr, launch->handle, launch->values, launch->extra};
  const std::string function = launch->function;
  const bool is_extensible = function == kFunctions[kLaunchExtensible];
  const uint32_t number = is_extensible                                ? kLaunchExtensible
                          : function == kFunctions[kLaunchCooperative] ? kLaunchCooperative
                                                                       : kLaunch;
  const Given given{is_extensible ? static_cast<void*>(&extensible) : &plain, kernel};
  const uint32_t id = ++state().correlation;
  call_back(context, number, CUPTI_API_ENTER, id, given);
  if (launch->code != nullptr) {
    CUpti_ModuleResourceData data{2, launch->code_size, launch->code};
    call_back_resource(context, CUPTI_CBID_RESOURCE_MODULE_LOADED, &data);
  }
  run_kernel(context, 7, kernel, id, 0);
  call_back(context, number, CUPTI_API_EXIT, id, given);
  return id;
}

FAKE uint32_t fake_graph_launch(void* context, uint32_t stream, int kernels) {
  const uint32_t id = ++state().correlation;
  call_back(context, kGraph, CUPTI_API_ENTER, id);
  for (int i = 0; i < kernels; ++i) run_kernel(context, stream, "in_graph", id, 5);
  call_back(context, kGraph, CUPTI_API_EXIT, id);
  return id;
}

FAKE uint32_t fake_copy(void* context, uint32_t stream, uint64_t bytes) {
  const uint32_t id = ++state().correlation;
  call_back(context, kCopy, CUPTI_API_ENTER, id);
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.bytes = bytes;
  copy.start = now(), copy.end = copy.start + 100;
  copy.streamId = stream;
  copy.correlationId = id;
  deposit(copy);
  call_back(context, kCopy, CUPTI_API_EXIT, id);
  return id;
}

FAKE uint32_t fake_memory_set(void* context, uint32_t stream, uint64_t bytes) {
  const uint32_t id = ++state().correlation;
  call_back(context, kSet, CUPTI_API_ENTER, id);
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.bytes = bytes;
  set.value = 0xab;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  set.streamId = stream;
  set.correlationId = id;
  deposit(set);
  call_back(context, kSet, CUPTI_API_EXIT, id);
  return id;
}

FAKE uint32_t fake_allocate(void* context, uint64_t bytes) {
  const uint32_t id = ++state().correlation;
  call_back(context, kAllocate, CUPTI_API_ENTER, id);
  CUpti_ActivityMemory4 memory{};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  memory.bytes = bytes;
  memory.address = 0x1000;
  memory.timestamp = now();
  memory.correlationId = id;
  deposit(memory);
  call_back(context, kAllocate, CUPTI_API_EXIT, id);
  return id;
}

FAKE uint32_t fake_synchronize(void* context) {
  const uint32_t id = ++state().correlation;
  call_back(context, kSynchronize, CUPTI_API_ENTER, id);
  call_back(context, kSynchronize, CUPTI_API_EXIT, id);
  return id;
}

FAKE CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                void* user) {
  if (const auto result = asked("FAKE_CUPTI_SUBSCRIBE"); result != CUPTI_SUCCESS) return result;
  auto& s = state();
  std::lock_guard guard(s.lock);
  s.callback = callback;
  s.user = user;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&s);
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle,
                                     CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  auto& s = state();
  std::lock_guard guard(s.lock);
  auto& set = domain == CUPTI_CB_DOMAIN_DRIVER_API ? s.calls : s.resources;
  enable != 0 ? void(set.insert(id)) : void(set.erase(id));
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, uint32_t id, const char** name) {
  if (id >= std::size(kFunctions) || kFunctions[id] == nullptr)
    return CUPTI_ERROR_INVALID_PARAMETER;
  *name = kFunctions[id];
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  static thread_local std::string last;
  last = "FAKE_ERROR_" + std::to_string(result);
  *text = last.c_str();
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiGetTimestamp(uint64_t* time) {
  *time = now();
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  *id = context_of(context).id;
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiGetDeviceId(CUcontext, uint32_t* id) {
  *id = 0;
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (const auto result = asked("FAKE_CUPTI_ACTIVITY"); result != CUPTI_SUCCESS) return result;
  std::lock_guard guard(state().lock);
  state().kinds.insert(kind);
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc wanted,
                                                CUpti_BuffersCallbackCompleteFunc completed) {
  std::lock_guard guard(state().lock);
  state().wanted = wanted;
  state().completed = completed;
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid,
                                            CUpti_Activity** record) {
  uint8_t* at =
      *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + size_of((*record)->kind);
  if (at >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  if (flag != 0 && asked("FAKE_CUPTI_HANG") != CUPTI_SUCCESS)
    for (;;) pause();
  auto& s = state();
  uint8_t* buffer;
  size_t size, used;
  {
    std::lock_guard guard(s.lock);
    buffer = s.buffer, size = s.size, used = s.used;
    s.buffer = nullptr;
  }
  deliver(buffer, size, used);
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams* params) {
  params->cubinCrc = kFakeCrc;
  return CUPTI_SUCCESS;
}

FAKE CUptiResult
cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams* params) {
  auto& context = context_of(params->ctx);
  std::lock_guard guard(state().lock);
  for (size_t i = 0; i < params->numAttributes; ++i) {
    const auto& attribute = params->pPCSamplingConfigurationInfo[i];
    if (attribute.attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE)
      context.serialized = attribute.attributeData.collectionModeData.collectionMode ==
                           CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED;
    if (attribute.attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
      context.last = static_cast<CUpti_PCSamplingData*>(
          attribute.attributeData.samplingDataBufferData.samplingDataBuffer);
  }
  return CUPTI_SUCCESS;
}

FAKE CUptiResult
cuptiPCSamplingGetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams* params) {
  params->pPCSamplingConfigurationInfo[0].attributeData.samplingPeriodData.samplingPeriod = 15;
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams* params) {
  if (const auto result = asked("FAKE_CUPTI_SAMPLING"); result != CUPTI_SUCCESS) return result;
  auto& context = context_of(params->ctx);
  std::lock_guard guard(state().lock);
  context.sampling = true;
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams* params) {
  auto& context = context_of(params->ctx);
  std::lock_guard guard(state().lock);
  context.sampling = false;
  if (context.last != nullptr) hand_over(context, *context.last);
  return CUPTI_SUCCESS;
}

/// Keeps the last two samples back, as if they were not decoded yet: they come with the end.
FAKE CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams* params) {
  auto& context = context_of(params->ctx);
  auto& out = *static_cast<CUpti_PCSamplingData*>(params->pcSamplingData);
  static std::atomic<bool> full{asked("FAKE_CUPTI_FULL") != CUPTI_SUCCESS};
  if (full.exchange(false)) {
    out.hardwareBufferFull = 1;
    return CUPTI_ERROR_OUT_OF_MEMORY;
  }
  std::lock_guard guard(state().lock);
  std::vector<PendingPc> held;
  while (!context.pending.empty() && held.size() < 2) {
    held.push_back(context.pending.back());
    context.pending.pop_back();
  }
  hand_over(context, out);
  context.pending.insert(context.pending.end(), held.rbegin(), held.rend());
  return CUPTI_SUCCESS;
}

FAKE CUptiResult
cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams* params) {
  *params->numStallReasons = 3;
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams* params) {
  const char* const names[] = {"smsp__pcsamp_sample_count",
                               "smsp__pcsamp_warps_issue_stalled_selected",
                               "smsp__pcsamp_warps_issue_stalled_wait_not_issued"};
  for (uint32_t i = 0; i < params->numStallReasons && i < 3; ++i) {
    params->stallReasonIndex[i] = i;
    std::strcpy(params->stallReasons[i], names[i]);
  }
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiGetStreamIdEx(CUcontext, CUstream, uint8_t, uint32_t* id) {
  *id = 7;
  return CUPTI_SUCCESS;
}

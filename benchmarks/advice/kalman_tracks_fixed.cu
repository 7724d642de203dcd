// Smooths measured tracks with a Kalman filter, a track for each thread, a step after the other.
// A step asks for the next one's measurement before it works on its own.

#include "pair.h"

constexpr int kThreads = 128;
constexpr int kSteps = 256;

/// Position and speed with their covariance.
struct Track {
  float position = 0, speed = 0;
  float pp = 1, ps = 0, ss = 1;
};

__device__ void predict(Track& track, float noise) {
  track.position += track.speed;
  track.pp += 2 * track.ps + track.ss + noise;
  track.ps += track.ss;
  track.ss += noise;
}

/// Takes in a measured position; outliers count less.
__device__ void correct(Track& track, float measured, float variance) {
  const float surprise = measured - track.position;
  const float weight = __expf(-0.05f * surprise * surprise);
  const float gain = __fdividef(weight, track.pp + variance);
  const float position_gain = track.pp * gain;
  const float speed_gain = track.ps * gain;
  track.position += position_gain * surprise;
  track.speed += speed_gain * surprise;
  track.ss -= speed_gain * track.ps;
  track.ps -= position_gain * track.ps;
  track.pp -= position_gain * track.pp;
}

__global__ void filter_tracks(const float* measured, int tracks, int steps, float* estimates) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  Track track;
  float next = measured[index];
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const float position = next;
    if (step + 1 < steps) next = measured[(step + 1) * tracks + index];
      // Three passes over the same measurement linearise the weight anew.
#pragma unroll
    for (int pass = 0; pass < 3; ++pass) {
      predict(track, 0.01f);
      correct(track, position, 0.5f);
    }
    estimates[step * tracks + index] = track.position;
  }
}

int main(int argc, char** argv) {
  const int blocks = 2 * sample::multiprocessors();
  const int tracks = blocks * kThreads;
  const size_t size = size_t(tracks) * kSteps;
  sample::DeviceArray<float> measured(size), estimates(size);
  pair::fill(measured, size, 1);
  pair::measure(argc, argv, [&] {
    filter_tracks<<<blocks, kThreads>>>(measured.get(), tracks, kSteps, estimates.get());
  });
  pair::print_checksum(sample::checksum(estimates.to_host()));
}

// Integers: hashing, checksums, ciphers, text, number theory.
#include "cases.h"

using bench::ceil_div;
using bench::hash;

// Half the slots are full; keys are found after 1.5 looks on average.
extern "C" __global__ void hash_lookup(const unsigned* __restrict__ keys,
                                       const unsigned* __restrict__ table,
                                       unsigned* __restrict__ where, int n, unsigned mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned key = keys[i], slot = key * 2654435761u & mask;
  while (table[slot] != key && table[slot] != 0) slot = (slot + 1) & mask;  // trips: hash_lookup
  where[i] = slot;
}

extern "C" __global__ void hash_insert(const unsigned* __restrict__ keys, unsigned* table, int n,
                                       unsigned mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned key = keys[i] | 1u, slot = key * 2654435761u & mask;
  for (int probe = 0; probe < 8; probe++) {  // trips: hash_insert
    unsigned old = atomicCAS(&table[slot], 0u, key);
    if (old == 0u || old == key) break;
    slot = (slot + 1) & mask;
  }
}

extern "C" __global__ void fnv1a(const unsigned* __restrict__ in, unsigned* __restrict__ out, int n,
                                 int words) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned h = 2166136261u;
  for (int w = 0; w < words; w++) {
    unsigned value = in[w * n + i];
    for (int b = 0; b < 4; b++) h = (h ^ (value >> (8 * b) & 255u)) * 16777619u;
  }
  out[i] = h;
}

extern "C" __global__ void crc32_table(const unsigned char* __restrict__ in,
                                       const unsigned* __restrict__ table,
                                       unsigned* __restrict__ out, int blocks, int bytes) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = table[i];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= blocks) return;
  unsigned crc = ~0u;
  for (int k = 0; k < bytes; k++) crc = local[(crc ^ in[k * blocks + i]) & 255u] ^ crc >> 8;
  out[i] = ~crc;
}

extern "C" __global__ void table_cipher(const uint4* __restrict__ in, const unsigned* __restrict__ box,
                                        const unsigned* __restrict__ keys, uint4* __restrict__ out,
                                        int n, int rounds) {
  __shared__ unsigned t[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) t[i] = box[i];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 s = in[i];
  for (int r = 0; r < rounds; r++) {
    uint4 next;
    next.x = t[s.x >> 24] ^ t[s.y >> 16 & 255] ^ t[s.z >> 8 & 255] ^ t[s.w & 255] ^ keys[4 * r];
    next.y = t[s.y >> 24] ^ t[s.z >> 16 & 255] ^ t[s.w >> 8 & 255] ^ t[s.x & 255] ^ keys[4 * r + 1];
    next.z = t[s.z >> 24] ^ t[s.w >> 16 & 255] ^ t[s.x >> 8 & 255] ^ t[s.y & 255] ^ keys[4 * r + 2];
    next.w = t[s.w >> 24] ^ t[s.x >> 16 & 255] ^ t[s.y >> 8 & 255] ^ t[s.z & 255] ^ keys[4 * r + 3];
    s = next;
  }
  out[i] = s;
}

__device__ unsigned rotate(unsigned x, int n) { return x << n | x >> (32 - n); }

extern "C" __global__ void chacha_rounds(unsigned* __restrict__ out, int rounds, unsigned seed) {
  unsigned a = blockIdx.x * blockDim.x + threadIdx.x, b = seed, c = ~a, d = a ^ seed;
  for (int r = 0; r < rounds; r++) {
    a += b;
    d = rotate(d ^ a, 16);
    c += d;
    b = rotate(b ^ c, 12);
    a += b;
    d = rotate(d ^ a, 8);
    c += d;
    b = rotate(b ^ c, 7);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a ^ b ^ c ^ d;
}

// A text of four letters: 1.33 letters are compared at each place.
extern "C" __global__ void string_match(const unsigned char* __restrict__ text,
                                        const unsigned char* __restrict__ pattern, unsigned* count,
                                        int n, int length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool found = false;
  if (i + length <= n) {
    int k = 0;
    while (k < length && text[i + k] == pattern[k]) k++;  // trips: string_match
    found = k == length;
  }
  unsigned ballot = __ballot_sync(~0u, found);
  if (threadIdx.x % 32 == 0 && ballot) atomicAdd(count, __popc(ballot));  // trips: string_found
}

extern "C" __global__ void mod_power(const unsigned* __restrict__ base, unsigned* __restrict__ out,
                                     int n, unsigned exponent, unsigned modulus) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long b = base[i] % modulus, result = 1;
  for (unsigned e = exponent; e != 0; e >>= 1) {
    if (e & 1u) result = result * b % modulus;
    b = b * b % modulus;
  }
  out[i] = (unsigned)result;
}

extern "C" __global__ void popcount_pairs(const uint2* __restrict__ a, const uint2* __restrict__ b,
                                          int* __restrict__ distance, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint2 mine = a[i];
  int best = 64;
  for (int j = 0; j < m; j++) {
    uint2 other = b[j];
    best = min(best, __popc(mine.x ^ other.x) + __popc(mine.y ^ other.y));
  }
  distance[i] = best;
}

extern "C" __global__ void dot_int8(const int* __restrict__ a, const int* __restrict__ b,
                                    int* __restrict__ c, int n, int k4) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || col >= n) return;
  int sum = 0;
  for (int k = 0; k < k4; k++) sum = __dp4a(a[row * k4 + k], b[k * n + col], sum);
  c[row * n + col] = sum;
}

extern "C" __global__ void collatz(unsigned* __restrict__ steps, int n, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = i + 1;
  int s = 0;
  for (; s < limit; s++) x = x & 1 ? 3 * x + 1 : x >> 1;
  steps[i] = (unsigned)x;
}

extern "C" __global__ void sieve_block(unsigned char* __restrict__ composite, int span, int primes) {
  extern __shared__ unsigned char flags[];
  for (int i = threadIdx.x; i < span; i += blockDim.x) flags[i] = 0;
  __syncthreads();
  for (int p = 3 + 2 * threadIdx.y; p < primes; p += 2 * blockDim.y) {
    int start = (p - (int)((long long)blockIdx.x * span % p)) % p;
    for (int m = start + threadIdx.x * p; m < span; m += blockDim.x * p)  // trips: sieve_marks
      flags[m] = 1;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < span; i += blockDim.x)
    composite[(size_t)blockIdx.x * span + i] = flags[i];
}

KERNELS(integer) {
  for (int block : {128, 256, 512})
    for (int n : {1 << 20, 1 << 22, 1 << 23}) {
      unsigned mask = 4u * n - 1;
      CASE(hash_lookup, n / block, block, 0)
          .ints("keys", n, 1u << 31)
          // Every other slot is empty, so that a search ends at the first or the second.
          .data<unsigned>("table", 4ull * n, [](size_t i) { return i % 2 ? 0u : hash(i); })
          .zeros("where", 4ull * n).arg("n", n).arg("mask", mask).trips("hash_lookup", 0.5);
      CASE(hash_insert, n / block, block, 0)
          .ints("keys", n, 1u << 31).zeros("table", 16ull * n).arg("n", n).arg("mask", mask)
          .trips("hash_insert", 1.1);
      CASE(fnv1a, n / block, block, 0)
          .ints("in", 8ull * n, 1u << 31).zeros("out", 4ull * n).arg("n", n).arg("words", 8);
      CASE(table_cipher, n / block, block, 0)
          .ints("in", 4ull * n, 1u << 31).ints("box", 256, 1u << 31).ints("keys", 64, 1u << 31)
          .zeros("out", 16ull * n).arg("n", n).arg("rounds", 10);
      CASE(string_match, 4 * n / block, block, 0)
          .data<unsigned char>("text", 4ull * n, [](size_t i) { return hash(i) % 4; })
          .data<unsigned char>("pattern", 16, [](size_t i) { return hash(i + 3) % 4; })
          .zeros("count", 4).arg("n", 4 * n).arg("length", 16).trips("string_match", 0.33)
          .trips("string_found", 0);
      CASE(mod_power, n / block, block, 0)
          .ints("base", n, 1u << 31).zeros("out", 4ull * n).arg("n", n).arg("exponent", 65537u)
          .arg("modulus", 1000000007u);
      CASE(collatz, n / block, block, 0)
          .zeros("steps", 4ull * n).arg("n", n).arg("limit", 100);
    }
  for (int block : {64, 128, 256})
    for (int blocks : {16384, 65536, 262144})
      CASE(crc32_table, blocks / block, block, 0)
          .data<unsigned char>("in", (size_t)blocks * 256, [](size_t i) { return hash(i) % 256; })
          .ints("table", 256, 1u << 31).zeros("out", 4 * blocks).arg("blocks", blocks)
          .arg("bytes", 256);
  for (int block : {64, 128, 256, 1024})
    for (int grid : {132, 528, 1320}) {
      CASE(chacha_rounds, grid, block, 0)
          .zeros("out", 4 * grid * block).arg("rounds", 2000).arg("seed", 99u);
      CASE(popcount_pairs, grid, block, 0)
          .ints("a", 2 * grid * block, 1u << 31).ints("b", 2048, 1u << 31)
          .zeros("distance", 4 * grid * block).arg("n", grid * block).arg("m", 1024);
    }
  for (dim3 block : {dim3(32, 8), dim3(16, 16), dim3(32, 32)})
    for (int n : {512, 1024, 2048})
      CASE(dot_int8, dim3(n / block.x, n / block.y), block, 0)
          .ints("a", n * 256, 1u << 31).ints("b", n * 256, 1u << 31).zeros("c", 4 * n * n)
          .arg("n", n).arg("k4", 256);
  for (dim3 block : {dim3(32, 4), dim3(32, 8), dim3(64, 4)})
    for (int grid : {132, 528, 2112})
      CASE(sieve_block, grid, block, 32768)
          .zeros("composite", 32768ull * grid).arg("span", 32768).arg("primes", 1000)
          .trips("sieve_marks", 5);
}

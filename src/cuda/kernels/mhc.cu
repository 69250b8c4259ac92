// The mHC operators for n = 4 streams: bf16 streams, fp32 parameters and arithmetic, any number of
// tokens, any hidden size. scripts/generate-kernels makes the images from this file.
//
// Compiled with --fmad=false: every fused multiply-add is written out, so that the fused operator
// gives the same bits as the two that it replaces, and the images of all cards the same.
// Outer loops are not unrolled: the JIT compiler's time on the PTX is part of a probe.
// bf16 is converted by integer operations: its instructions need newer cards than the PTX's sm_70.

typedef unsigned short Bf16;

constexpr int kStreams = 4;
constexpr int kMixes = 24;          // pre 0-3, post 4-7, comb 8-23 row-major.
constexpr int kEntries = 16;        // Of comb; as many lanes work on one token's comb.
constexpr int kSplitThreads = 128;  // Eight tokens.
constexpr int kPreThreads = 256;    // One token.
constexpr int kPostThreads = 128;   // kPostWidth elements of one token.
constexpr int kPostWidth = 1024;
constexpr int kVector = 8;     // bf16 values in 16 bytes.
constexpr int kPreVector = 4;  // fp32 values in 16 bytes.
constexpr int kFolds = 8;
constexpr unsigned kWholeWarp = 0xffffffffU;

/// As MhcConstants of mhc_ops.hpp.
struct Constants {
  int iterations;
  float pre_eps;
  float sinkhorn_eps;
  float rms_eps;
  float norm_eps;
  float post_multiplier;
};

__device__ __forceinline__ float widen(unsigned bits) { return __uint_as_float(bits << 16); }

/// To nearest even; a NaN stays one (rounding up could carry it to infinity).
__device__ __forceinline__ unsigned round_to_bf16(float value) {
  const unsigned bits = __float_as_uint(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return (bits >> 16) | 0x40U;
  return (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
}

__device__ __forceinline__ void widen_pair(unsigned pair, float* to) {
  to[0] = widen(pair);
  to[1] = __uint_as_float(pair & 0xffff0000U);
}

__device__ __forceinline__ unsigned round_pair(const float* from) {
  return round_to_bf16(from[0]) | (round_to_bf16(from[1]) << 16);
}

/// N = 1: any address. N = 4 or 8: one access, aligned to its size.
template <int N>
__device__ __forceinline__ void load(const Bf16* from, float (&to)[N]) {
  if constexpr (N == 8) {
    const uint4 raw = *reinterpret_cast<const uint4*>(from);
    widen_pair(raw.x, to), widen_pair(raw.y, to + 2);
    widen_pair(raw.z, to + 4), widen_pair(raw.w, to + 6);
  } else if constexpr (N == 4) {
    const uint2 raw = *reinterpret_cast<const uint2*>(from);
    widen_pair(raw.x, to), widen_pair(raw.y, to + 2);
  } else {
    to[0] = widen(*from);
  }
}

template <int N>
__device__ __forceinline__ void store(Bf16* to, const float (&from)[N]) {
  if constexpr (N == 8) {
    *reinterpret_cast<uint4*>(to) =
        uint4{round_pair(from), round_pair(from + 2), round_pair(from + 4), round_pair(from + 6)};
  } else if constexpr (N == 4) {
    *reinterpret_cast<uint2*>(to) = uint2{round_pair(from), round_pair(from + 2)};
  } else {
    *to = static_cast<Bf16>(round_to_bf16(from[0]));
  }
}

/// N = 1: any address. Otherwise accesses of 16 bytes.
template <int N>
__device__ __forceinline__ void load(const float* from, float (&to)[N]) {
  if constexpr (N == 1) {
    to[0] = *from;
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const float4 raw = *reinterpret_cast<const float4*>(from + i);
      to[i] = raw.x, to[i + 1] = raw.y, to[i + 2] = raw.z, to[i + 3] = raw.w;
    }
  }
}

__device__ __forceinline__ bool aligned(const void* pointer) {
  return reinterpret_cast<unsigned long long>(pointer) % 16 == 0;
}

// Over four lanes whose numbers differ in the bits `step` and 2 * step. Every lane gets the same.
__device__ __forceinline__ float sum4(float value, int step) {
  value += __shfl_xor_sync(kWholeWarp, value, step);
  return value + __shfl_xor_sync(kWholeWarp, value, 2 * step);
}

__device__ __forceinline__ float max4(float value, int step) {
  value = fmaxf(value, __shfl_xor_sync(kWholeWarp, value, step));
  return fmaxf(value, __shfl_xor_sync(kWholeWarp, value, 2 * step));
}

struct Split {
  float gate;  ///< Entries 0-3: pre; 4-7: post.
  float comb;
};

/// One entry of a token's split; whole warps call it, 16 lanes a token, lane = 4 * row + column.
__device__ __forceinline__ Split split_entry(const float* mixes, const float* scale,
                                             const float* base, const Constants& constants) {
  const int entry = static_cast<int>(threadIdx.x) % kEntries;
  const int column = entry % (2 * kStreams);
  const bool is_pre = column < kStreams;
  const float logit = fmaf(mixes[column], scale[is_pre ? 0 : 1], base[column]);
  const float sigmoid = 1.0F / (1.0F + expf(-logit));

  constexpr int kAlongRow = 1;
  constexpr int kAlongColumn = kStreams;
  const float eps = constants.sinkhorn_eps;
  const int comb_column = 2 * kStreams + entry;
  float comb = fmaf(mixes[comb_column], scale[2], base[comb_column]);
  comb = expf(comb - max4(comb, kAlongRow));
  comb = comb / sum4(comb, kAlongRow) + eps;
  comb = comb / (sum4(comb, kAlongColumn) + eps);
#pragma unroll 1
  for (int i = 1; i < constants.iterations; ++i) {
    comb = comb / (sum4(comb, kAlongRow) + eps);
    comb = comb / (sum4(comb, kAlongColumn) + eps);
  }
  return {is_pre ? sigmoid + constants.pre_eps : constants.post_multiplier * sigmoid, comb};
}

/// A token's tensors of mhc_post.
struct PostToken {
  const Bf16* x;
  const Bf16* residual;
  const float* post;
  const float* comb;
  Bf16* out;
};

struct PostWeights {
  float post[kStreams];
  float comb[kEntries];
};

template <int N>
__device__ __forceinline__ PostWeights load_weights(const PostToken& token) {
  PostWeights weights;
  if constexpr (N == kVector) {
    load(token.post, weights.post);
    load(token.comb, weights.comb);
  } else {
#pragma unroll
    for (int j = 0; j < kStreams; ++j) weights.post[j] = token.post[j];
#pragma unroll
    for (int e = 0; e < kEntries; ++e) weights.comb[e] = token.comb[e];
  }
  return weights;
}

/// N elements from h on, all streams: the post term, then the streams in ascending order.
template <int N>
__device__ __forceinline__ void post_elements(const PostToken& token, const PostWeights& weights,
                                              int hidden, int h) {
  float x[N];
  float streams[kStreams][N];
  load(token.x + h, x);
#pragma unroll
  for (int k = 0; k < kStreams; ++k)
    load(token.residual + static_cast<long long>(k) * hidden + h, streams[k]);
#pragma unroll
  for (int j = 0; j < kStreams; ++j) {
    float out[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      out[i] = weights.post[j] * x[i];
#pragma unroll
      for (int k = 0; k < kStreams; ++k)
        out[i] = fmaf(weights.comb[k * kStreams + j], streams[k][i], out[i]);
    }
    store(token.out + static_cast<long long>(j) * hidden + h, out);
  }
}

__device__ __forceinline__ bool vectorised(const PostToken& token, int hidden) {
  return hidden % kVector == 0 && aligned(token.x) && aligned(token.residual) &&
         aligned(token.post) && aligned(token.comb) && aligned(token.out);
}

struct PostTensors {
  const Bf16* x;
  const Bf16* residual;
  const float* post;
  const float* comb;
  Bf16* out;
};

__device__ __forceinline__ PostToken post_token(const PostTensors& all, long long token,
                                                int hidden) {
  const long long row = token * hidden;
  return {all.x + row, all.residual + row * kStreams, all.post + token * kStreams,
          all.comb + token * kEntries, all.out + row * kStreams};
}

template <int N>
__device__ __forceinline__ void post_range(const PostToken& token, int hidden, int begin, int end) {
  const PostWeights weights = load_weights<N>(token);
#pragma unroll 1
  for (int h = begin + static_cast<int>(threadIdx.x) * N; h < end;
       h += static_cast<int>(blockDim.x) * N)
    post_elements<N>(token, weights, hidden, h);
}

/// A token's tensors of mhc_pre and what all tokens share.
struct PreToken {
  const Bf16* residual;
  const float* fn;
  const float* scale;
  const float* base;
  const Bf16* norm_weight;  ///< Null: no norm.
  float* post;
  float* comb;
  Bf16* layer_input;
};

/// Sums over the block: a row of `partial` a value, a column a thread. The padding keeps the eight
/// folding threads of four rows in different banks.
struct PreShared {
  float partial[kMixes + 1][kPreThreads + kFolds];
  float folded[kMixes + 1][kFolds];
  float mixes[kMixes];
  float pre[kStreams];
};
__shared__ PreShared shared;

__device__ __forceinline__ void fold(int rows) {
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (thread < rows * kFolds) {
    const int row = thread / kFolds;
    const int part = thread % kFolds;
    float sum = 0.0F;
#pragma unroll 1
    for (int i = part; i < kPreThreads; i += kFolds) sum += shared.partial[row][i];
    shared.folded[row][part] = sum;
  }
  __syncthreads();
}

__device__ __forceinline__ float folded_sum(int row) {
  float sum = 0.0F;
#pragma unroll
  for (int part = 0; part < kFolds; ++part) sum += shared.folded[row][part];
  return sum;
}

/// This thread's share of the 24 dot products and of the sum of squares (the last row).
template <int N>
__device__ __forceinline__ void partial_mixes(const PreToken& token, int hidden) {
  const int width = kStreams * hidden;
  float sums[kMixes] = {};
  float squares = 0.0F;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x) * N; i < width; i += kPreThreads * N) {
    float x[N];
    load(token.residual + i, x);
#pragma unroll
    for (int n = 0; n < N; ++n) squares = fmaf(x[n], x[n], squares);
#pragma unroll
    for (int o = 0; o < kMixes; ++o) {
      float w[N];
      load(token.fn + static_cast<long long>(o) * width + i, w);
#pragma unroll
      for (int n = 0; n < N; ++n) sums[o] = fmaf(x[n], w[n], sums[o]);
    }
  }
#pragma unroll
  for (int o = 0; o < kMixes; ++o) shared.partial[o][threadIdx.x] = sums[o];
  shared.partial[kMixes][threadIdx.x] = squares;
}

/// Stores the weighted sum of the streams, rounded; returns this thread's sum of the squares of
/// what was not rounded yet.
template <int N>
__device__ __forceinline__ float weighted_sum(const PreToken& token, int hidden, const float* pre) {
  float squares = 0.0F;
#pragma unroll 1
  for (int h = static_cast<int>(threadIdx.x) * N; h < hidden; h += kPreThreads * N) {
    float sum[N] = {};
#pragma unroll
    for (int j = 0; j < kStreams; ++j) {
      float x[N];
      load(token.residual + static_cast<long long>(j) * hidden + h, x);
#pragma unroll
      for (int n = 0; n < N; ++n) sum[n] = fmaf(pre[j], x[n], sum[n]);
    }
#pragma unroll
    for (int n = 0; n < N; ++n) squares = fmaf(sum[n], sum[n], squares);
    store(token.layer_input + h, sum);
  }
  return squares;
}

/// Each thread scales the elements that it stored itself.
template <int N>
__device__ __forceinline__ void apply_norm(const PreToken& token, int hidden, float factor) {
#pragma unroll 1
  for (int h = static_cast<int>(threadIdx.x) * N; h < hidden; h += kPreThreads * N) {
    float y[N];
    float g[N];
    load(token.layer_input + h, y);
    load(token.norm_weight + h, g);
#pragma unroll
    for (int n = 0; n < N; ++n) y[n] = (y[n] * factor) * g[n];
    store(token.layer_input + h, y);
  }
}

/// Not inlined: the same code for mhc_pre and mhc_fused_post_pre, and half as much of it.
template <int N>
__device__ __noinline__ void pre_token(PreToken token, int hidden, Constants constants) {
  const int thread = static_cast<int>(threadIdx.x);
  partial_mixes<N>(token, hidden);
  fold(kMixes + 1);
  if (thread < warpSize) {
    const float width = static_cast<float>(kStreams) * static_cast<float>(hidden);
    const float mean = folded_sum(kMixes) / width;
    const float factor = 1.0F / sqrtf(mean + constants.rms_eps);
    if (thread < kMixes) shared.mixes[thread] = folded_sum(thread) * factor;
    __syncwarp();
    const Split split = split_entry(shared.mixes, token.scale, token.base, constants);
    if (thread < kStreams) shared.pre[thread] = split.gate;
    if (thread >= kStreams && thread < 2 * kStreams) token.post[thread - kStreams] = split.gate;
    if (thread < kEntries) token.comb[thread] = split.comb;
  }
  __syncthreads();
  const float squares = weighted_sum<N>(token, hidden, shared.pre);
  if (token.norm_weight == nullptr) return;
  shared.partial[0][thread] = squares;
  fold(1);
  const float mean = folded_sum(0) / static_cast<float>(hidden);
  apply_norm<N>(token, hidden, 1.0F / sqrtf(mean + constants.norm_eps));
}

__device__ __forceinline__ void pre_any_token(const PreToken& token, int hidden,
                                              const Constants& constants) {
  if (hidden % kPreVector == 0 && aligned(token.residual) && aligned(token.fn) &&
      aligned(token.norm_weight) && aligned(token.layer_input)) {
    pre_token<kPreVector>(token, hidden, constants);
  } else {
    pre_token<1>(token, hidden, constants);
  }
}

extern "C" __global__ void __launch_bounds__(kSplitThreads)
    mhc_split_sinkhorn(const float* mixes, const float* scale, const float* base, float* pre,
                       float* post, float* comb, long long tokens, Constants constants) {
  const int entry = static_cast<int>(threadIdx.x) % kEntries;
  constexpr int kTokens = kSplitThreads / kEntries;
  const long long wanted =
      static_cast<long long>(blockIdx.x) * kTokens + static_cast<int>(threadIdx.x) / kEntries;
  // Lanes without a token follow the last one: the shuffles need the whole warp.
  const long long token = wanted < tokens ? wanted : tokens - 1;
  const Split split = split_entry(mixes + token * kMixes, scale, base, constants);
  if (wanted >= tokens) return;
  if (entry < kStreams) pre[token * kStreams + entry] = split.gate;
  if (entry >= kStreams && entry < 2 * kStreams)
    post[token * kStreams + entry - kStreams] = split.gate;
  comb[token * kEntries + entry] = split.comb;
}

extern "C" __global__ void __launch_bounds__(kPreThreads)
    mhc_pre(const Bf16* residual, const float* fn, const float* scale, const float* base,
            const Bf16* norm_weight, float* post, float* comb, Bf16* layer_input, int hidden,
            Constants constants) {
  const long long token = blockIdx.x;
  pre_any_token({residual + token * kStreams * hidden, fn, scale, base, norm_weight,
                 post + token * kStreams, comb + token * kEntries, layer_input + token * hidden},
                hidden, constants);
}

extern "C" __global__ void __launch_bounds__(kPostThreads)
    mhc_post(const Bf16* x, const Bf16* residual, const float* post, const float* comb, Bf16* out,
             int hidden) {
  const int parts = (hidden + kPostWidth - 1) / kPostWidth;
  const int part = static_cast<int>(blockIdx.x % static_cast<unsigned>(parts));
  const PostToken token =
      post_token({x, residual, post, comb, out}, blockIdx.x / static_cast<unsigned>(parts), hidden);
  const int begin = part * kPostWidth;
  const int end = hidden - begin < kPostWidth ? hidden : begin + kPostWidth;
  if (vectorised(token, hidden)) {
    post_range<kVector>(token, hidden, begin, end);
  } else {
    post_range<1>(token, hidden, begin, end);
  }
}

extern "C" __global__ void __launch_bounds__(kPreThreads)
    mhc_fused_post_pre(const Bf16* x, const Bf16* residual, const float* post, const float* comb,
                       Bf16* out, const float* fn, const float* scale, const float* base,
                       const Bf16* norm_weight, float* next_post, float* next_comb,
                       Bf16* layer_input, int hidden, Constants constants) {
  const long long token = blockIdx.x;
  const PostToken before = post_token({x, residual, post, comb, out}, token, hidden);
  if (vectorised(before, hidden)) {
    post_range<kVector>(before, hidden, 0, hidden);
  } else {
    post_range<1>(before, hidden, 0, hidden);
  }
  // What follows reads the rounded streams back, as mhc_pre would.
  __syncthreads();
  pre_any_token({before.out, fn, scale, base, norm_weight, next_post + token * kStreams,
                 next_comb + token * kEntries, layer_input + token * hidden},
                hidden, constants);
}

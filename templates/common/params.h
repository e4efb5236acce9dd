// ForwardParams: the argument of every attention forward kernel. Host and kernel compile this same file; there
// is no second description of the argument list. Plain C++ without includes, so that every device compiler
// takes it. Strides are in elements; the last dimension of Q, K, V and O has stride 1.

// A tensor that a score modifier reads. Strides and sizes of dimensions past its rank are 0.
struct ModifierTensorParams {
  const void* data;
  long long strides[4];
  int sizes[4];
};

struct ForwardParams {
  const void* q;  // [B, Hq, Nq, D] by strides; varlen: [Tq, Hq, D], batch stride unused
  const void* k;  // [B, Hkv, Nk, D]; paged: [pages, Hkv, page_size, D], the batch strides of k and v step pages
  const void* v;  // [B, Hkv, Nk, Dv]
  void* o;        // [B, Hq, Nq, Dv]
  float* lse;     // [B, Hq, Nq] natural log; null when not wanted
  const unsigned char* mask;  // boolean, null when none
  const void* bias;           // additive, null when none
  const int* cu_seqlens_q;    // varlen: [B + 1]; else null
  const int* cu_seqlens_k;
  const unsigned long long* philox_state;  // {seed, offset} in device memory; null: the fields below
  void* workspace;

  long long q_stride_batch, q_stride_head, q_stride_row;
  long long k_stride_batch, k_stride_head, k_stride_row;
  long long v_stride_batch, v_stride_head, v_stride_row;
  long long o_stride_batch, o_stride_head, o_stride_row;
  long long lse_stride_batch, lse_stride_head;  // rows are contiguous
  long long mask_stride_batch, mask_stride_head, mask_stride_row, mask_stride_key;  // 0 = broadcast
  long long bias_stride_batch, bias_stride_head, bias_stride_row, bias_stride_key;

  int batch;
  int heads_q;
  int heads_kv;
  int seqlen_q;  // varlen: upper bound over the batch
  int seqlen_k;
  int window_left;   // keys visible to the left of the tail-aligned diagonal; negative = unlimited
  int window_right;  // 0 when causal

  float softmax_scale;  // multiplies Q K^T
  float softcap;        // 0 = off
  float dropout_p;      // keep iff u > dropout_p
  float dropout_scale;  // 1 / (1 - dropout_p)
  unsigned long long philox_seed;
  unsigned long long philox_offset;

  const float* sinks;      // [Hq], null when none
  const int* seqlens_k;    // [B], each 0 to seqlen_k; null: seqlen_k for all
  const int* block_table;  // paged: [B, max_pages] of page numbers; else null
  long long block_table_stride_batch;  // a row's entries are contiguous
  int num_pages;                       // paged: pages in k and v
  int max_pages;                       // paged: entries in a row of block_table
  ModifierTensorParams modifier_tensors[4];
};

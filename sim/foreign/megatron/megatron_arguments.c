/* The names are those of megatron/training/arguments.py, argument_utils.py and the configurations
 * of megatron/core of https://github.com/NVIDIA/Megatron-LM, releases v2.5 (2021) to core_v0.19.0
 * (August 2026), of https://github.com/bigscience-workshop/Megatron-DeepSpeed and
 * https://github.com/deepspeedai/Megatron-DeepSpeed; read November 2026.
 */
#include "foreign/megatron/megatron_arguments.h"

#define SPELLING(name, means, value)      \
    {                                     \
        name, TOLD_SPELLING, means, value \
    }

/* The model, its layout, its arithmetic: megatron_run.c. */
static const char read[] =
    "account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split "
    "activation_func_clamp_value add_bias_linear add_position_embedding add_qkv_bias "
    "apply_layernorm_1p apply_rope_fusion async_save attention_backend attention_dropout "
    "batch_size bf16 bias_dropout_fusion bias_gelu_fusion bias_swiglu_fusion "
    "checkpoint_activations checkpoint_num_layers clip_grad context_parallel_size "
    "cp_comm_type cpu_offloading cpu_offloading_num_layers cpu_optimizer "
    "cross_entropy_fusion_impl cross_entropy_loss_fusion cuda_graph_impl cuda_graph_modules "
    "cuda_graph_scope data_parallel_sharding_strategy ddp_bucket_size "
    "decoder_first_pipeline_num_layers decoder_last_pipeline_num_layers decoder_num_layers "
    "deepspeed deepspeed_activation_checkpointing deepspeed_config "
    "defer_embedding_wgrad_compute device embed_layernorm enable_cuda_graph "
    "encoder_num_layers encoder_seq_length exp_avg_dtype exp_avg_sq_dtype "
    "expert_model_parallel_size expert_tensor_parallel_size external_cuda_graph "
    "extra_vocab_size ffn_hidden_size first_last_layers_bf16 fp16 fp4 fp8 "
    "fp8_dot_product_attention fp8_param_gather fp8_recipe fp8_wgrad global_batch_size gpu "
    "grad_reduce_in_bf16 gradient_accumulation_fusion group_query_attention hidden_dropout "
    "hidden_size kv_channels kv_lora_rank main_grads_dtype main_params_dtype "
    "masked_softmax_fusion max_position_embeddings micro_batch_size "
    "microbatch_group_size_per_vp_stage model_parallel_size moe_enable_deepep "
    "moe_expert_capacity_factor moe_ffn_hidden_size moe_flex_dispatcher_backend "
    "moe_layer_freq moe_layer_recompute moe_pad_expert_input_to_capacity "
    "moe_router_enable_expert_bias moe_router_group_topk moe_router_num_groups "
    "moe_router_topk moe_shared_expert_intermediate_size moe_token_dispatcher_type "
    "mtp_num_layers multi_latent_attention nnodes no_pipeline_parallel normalization "
    "nproc_per_node num_attention_heads num_distributed_optimizer_instances num_key_value_heads "
    "expert_interval num_experts "
    "num_layers num_layers_at_end_in_bf16 num_layers_at_start_in_bf16 "
    "num_layers_per_virtual_pipeline_stage num_query_groups "
    "num_virtual_stages_per_pipeline_rank openai_gelu optimizer optimizer_cpu_offload "
    "optimizer_offload_fraction overlap_grad_reduce overlap_moe_expert_parallel_comm "
    "overlap_p2p_comm overlap_param_gather padded_vocab_size pipeline_model_parallel_layout "
    "pipeline_model_parallel_size position_embedding_type program q_lora_rank qk_head_dim "
    "qk_l2_norm "
    "qk_layernorm qk_pos_emb_head_dim quick_geglu rampup_batch_size recompute_activations "
    "recompute_granularity recompute_method recompute_modules recompute_num_layers rope_type "
    "save save_interval seq_length sequence_parallel softmax_type squared_relu swiglu "
    "tensor_model_parallel_size tokenizer_model tokenizer_type topk tp_comm_overlap "
    "train_iters train_samples train_tokens transformer_impl "
    "untie_embeddings_and_output_weights use_custom_fsdp use_distributed_optimizer "
    "use_flash_attn use_flash_attn_triton use_flash_attn_v2 use_megatron_fsdp "
    "use_precision_aware_optimizer use_rotary_position_embeddings use_torch_fsdp2 "
    "use_tp_pp_dp_mapping v_head_dim virtual_pipeline_model_parallel_size vocab_size "
    "wgrad_deferral_limit window_attn_skip_freq window_size world_size zero_stage ";

/* Of these, and of spellings, what a command line says without a value. */
static const char flags[] =
    "account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split add_qkv_bias "
    "apply_layernorm_1p async_save bf16 checkpoint_activations cross_entropy_loss_fusion "
    "defer_embedding_wgrad_compute deepspeed deepspeed_activation_checkpointing "
    "embed_layernorm enable_cuda_graph external_cuda_graph first_last_layers_bf16 fp16 "
    "fp8_param_gather fp8_dot_product_attention group_query_attention grad_reduce_in_bf16 "
    "moe_enable_deepep moe_layer_recompute moe_pad_expert_input_to_capacity "
    "moe_router_enable_expert_bias multi_latent_attention no_pipeline_parallel openai_gelu "
    "optimizer_cpu_offload overlap_grad_reduce overlap_moe_expert_parallel_comm "
    "overlap_param_gather qk_layernorm qk_l2_norm quick_geglu recompute_activations "
    "sequence_parallel squared_relu swiglu tp_comm_overlap "
    "untie_embeddings_and_output_weights use_custom_fsdp use_distributed_optimizer "
    "use_flash_attn use_flash_attn_v2 use_flash_attn_triton use_megatron_fsdp "
    "use_precision_aware_optimizer use_rotary_position_embeddings use_torch_fsdp2 "
    "use_tp_pp_dp_mapping cpu_optimizer cpu_offloading ";

/* Convergence, data, logs, checkpoints' files, processes. */
static const char *const aside[] = {
    "train_weighted_* valid_weighted_* test_weighted_* moe_min_capacity moe_loss_coeff "
    "moe_eval_capacity_factor create_moe_param_group ds.* abort_on_unmet_fused_kernel_constraints "
    "accumulate_allreduce_grads_in_fp32 adam_* "
    "adaptive_* adlr_* align_grad_reduce align_param_gather allow_ambiguous_pad_tokens "
    "app_tag_run_* apply_query_key_layer_scaling apply_residual_connection_post_layernorm "
    "apply_wd_to_qk_layernorm async_* async_tensor_model_parallel_allreduce "
    "attention_softmax_in_fp32 auto_detect_ckpt_format barrier_with_l1_time "
    "batch_invariant_mode bert_binary_head bert_embedder_type bert_load beta_fast beta_slow "
    "biencoder_* block_data_path cache_mla_latents calc_ft_timeouts calculate_per_token_loss "
    "chat_template check_for_* check_weight_hash_across_dp_replicas_interval "
    "checkpoint_in_cpu ckpt_* classes_fraction clone_scatter_output_in_embedding "
    "codecarbon_dir config_logger_dir consumed_* contigious_checkpointing "
    "create_all_gather_group create_attention_mask_in_dataloader "
    "cuda_graph_retain_backward_graph cuda_graph_use_single_mempool cuda_graph_warmup_steps "
    "curriculum* curriculum_* data_args_path data_cache_path data_efficiency_* data_impl "
    "data_parallel_random_init data_parallel_size data_path data_per_class_fraction "
    "data_sharding dataloader_* dataloader_type dataset ddp_average_in_collective ddp_impl "
    "ddp_num_buckets ddp_pad_buckets_for_high_nccl_busbw decode_only_cuda_graphs decoupled_lr "
    "decoupled_min_lr decrease_batch_size_if_needed deepscale deepscale_config deepspeed_mpi "
    "delay_grad_reduce delay_param_gather deprecated_use_mcore_models dino_* "
    "disable_bf16_reduced_precision_matmul disable_chunked_prefill disable_mamba_mem_eff_path "
    "disable_msc* disable_straggler_on_startup dist_ckpt_* "
    "distrib_optim_fully_reshardable_mem_efficient distribute_checkpointed_activations "
    "distribute_saved_activations distributed_backend distributed_timeout_* ds_* "
    "dump_param_to_param_group_map embedding_init_method_std embedding_path "
    "empty_unused_memory_level enable_chunked_prefill enable_experimental enable_ft_package "
    "enable_full_sharding_in_hsdp enable_gloo_process_groups enable_msc enable_one_logger "
    "end_weight_decay eod_mask_loss error_injection_* eval_* evidence_data_path exit_* "
    "exit_on_missing_checkpoint fake_process_group filter_warnings fim_* finetune "
    "flash_decode flight_recorder_* fp16_lm_cross_entropy fp32_residual_connection "
    "fp4_param_gather fp4_recipe fp8_amax_* fp8_interval fp8_margin fp8_quantizer_factory "
    "fsdp_db_use_persist_buf_on_alloc_fail fsdp_double_buffer fsdp_manual_registration ft_* "
    "full_validation glu_linear_offset gpu_sniff_test_interval gradient_reduce_div_fusion ",
    "grpo_* head_lr_mult heterogeneous_block_specs hierarchical_context_parallel_sizes "
    "high_priority_* hysteresis ict_* img_* indexer_* inference inference_* "
    "inference_rng_tracker init_method_* init_model_with_meta_device initial_loss_scale "
    "inprocess_* iter_per_epoch iterations_to_skip keep_fp8_transpose_cache* kill_switch_* "
    "kitchen_* langrl_* layernorm_epsilon lazy_mpu_init legacy_tokenizer lion_* load load_* "
    "local_rank log_* logging_level logits_load_* logits_save_* loss_scale* lr lr_* "
    "make_vocab_size_divisible_by mamba_* mamba_inference_* manual_gc_eval mask_* mask_prob "
    "max_seqlen_per_dp_cp_rank max_tokens_to_oom megatron_fsdp_* memory_efficient_layer_norm "
    "memory_snapshot_path merge_file mid_level_dataset_surplus min_loss_scale min_lr "
    "mlp_chunks_for_prefill mmap_bin_files mmap_warmup mock_data modules_to_filter "
    "moe_apply_probs_on_input moe_aux_loss_coeff moe_deepep_num_sms moe_enable_routing_replay "
    "moe_extended_tp moe_flex_dispatcher_num_sms moe_grouped_gemm moe_hybridep_* "
    "moe_input_jitter_eps moe_pad_experts_for_cuda_graph_inference moe_per_layer_logging "
    "moe_permute_fusion moe_router_bias_update_rate moe_router_dtype "
    "moe_router_force_load_balancing moe_router_fusion moe_router_load_balancing_type "
    "moe_router_padding_for_fp8 moe_router_padding_for_quantization moe_router_pre_softmax "
    "moe_router_quantile_balancing_ema moe_router_score_function "
    "moe_router_topk_limited_devices moe_router_topk_scaling_factor moe_routing_trace_* "
    "moe_single_grouped_* moe_token_drop_policy moe_token_dropping moe_upcycling_granularity "
    "moe_use_legacy_grouped_gemm moe_use_upcycling moe_z_loss_coeff mrope_section mscale "
    "mscale_all_dim mtp_detach_heads mtp_loss_scaling_factor multiple_validation_sets muon_* "
    "mup_* nccl_all_reduce_for_prefill nccl_communicator_config_path "
    "no_create_attention_mask_in_dataloader no_load_* no_query_key_layer_scaling no_rope_freq "
    "no_save_* no_shared_storage no_use_layer_wise_param_layout no_weight_decay_cond_type "
    "no_yarn_* non_persistent_* norm_epsilon null_tokenizer_* num_channels num_classes "
    "num_dataset_builder_threads num_speculative_tokens num_workers nvtx_ranges "
    "object_storage_cache_path one_logger_* onnx_safe optimizer_cuda_graph "
    "original_max_position_embeddings outer_dp_sharding_strategy output_bert_embeddings "
    "overlap_cpu_optimizer_d2h_h2d overlap_p2p_comm_warmup_flush "
    "overlap_p2p_communication_warmup_flush override_* pad_vocab_size params_dtype "
    "partition_activations patch_dim patch_tokenizer_type per_dataset_sequences_path ",
    "per_split_data_args_path perform_initialization persist_layer_norm "
    "persistent_save_interval phase_transition_iterations pin_cpu_* "
    "pipeline_model_parallel_comm_backend pp_partition_method pretrained_checkpoint profile_* "
    "profile_backward pytorch_profiler_* qk_clip* quant_recipe query_in_block_prob rampup_* "
    "random_ltd* rank record_memory_history record_shapes refit_method relative_attention_* "
    "remote_device renormalize_blend_weights replication* rerun_* reset_attention_mask "
    "reset_position_ids result_rejected_tracker_filename retriever_* retro_* reweight_loss_* "
    "rl_* rope_scaling_factor rotary_base rotary_interleaved rotary_percent "
    "rotary_scaling_factor rotary_seq_len_interpolation_factor run_workload_inspector_server "
    "s3_cache_path sample_rate save_* scatter_gather_tensors_in_pipeline seed "
    "sft_tokenizer_prompt_format sgd_momentum sharp_enabled_group short_seq_prob skip_train "
    "skipped_* softmax_scale special_tokens* split start_eval_at_iter start_weight_decay "
    "straggler_* strict_fsdp_dtensor_load suggested_communication_unit_size swin_* "
    "synchronize_each_layer te_precision_config_file te_rng_tracker tensorboard_* "
    "test_data_path test_mode tiktoken_* timing_log_* titles_data_path tokenizer_* "
    "tokenizer_name torch_fsdp2_reshard_after_forward tp_comm_atomic_* "
    "tp_comm_bootstrap_backend tp_comm_bulk_* tp_comm_overlap_* tp_comm_overlap_cfg "
    "tp_comm_split_* train_data_path train_mode train_sync_interval "
    "transformer_pipeline_model_parallel_size trust_remote_code universal_checkpoint "
    "use_checkpoint_* use_contiguous_buffers_in_ddp use_cpu_initialization use_dist_ckpt* "
    "use_fused_weighted_squared_relu use_gloo_process_groups use_kitchen* "
    "use_layer_wise_param_layout use_legacy_models use_legacy_static_engine "
    "use_mamba_mem_eff_path use_mcore_models use_mp_args_from_checkpoint_args use_mup "
    "use_one_sent_docs use_persistent_ckpt_worker use_pin_memory use_prescale_gradients "
    "use_pytorch_profiler use_rope_scaling use_same_sampling_seed_across_dp_ranks "
    "use_te_activation_func use_te_rng_tracker use_tokenizer_model_from_checkpoint_args "
    "use_torch_optimizer_for_cpu_offload valid_data_path validation_set_names "
    "variable_seq_lengths verify_integrity virtual_pipeline_model_parallel_rank vision_* "
    "vocab_extra_ids vocab_file wandb_* warmup weight_decay weight_decay_incr_style yaml_cfg "
    "yarn_* zero_allow_untied_* zero_contigious_gradients zero_reduce_* "};

static const struct told_row arguments[] = {
    /* what brings in layers, or FLOPs, that no scenario of ours has */
    TOLD_ROW_REFUSED("is_hybrid_model", "state-space layers", "|False|"),
    TOLD_ROW_REFUSED("hybrid_override_pattern", "state-space layers", "|[]|"),
    TOLD_ROW_REFUSED("hybrid_layer_pattern", "state-space layers", "|[]|"),
    TOLD_ROW_REFUSED("mtp_hybrid_override_pattern", "state-space layers", "|[]|"),
    TOLD_ROW_REFUSED("hybrid_attention_ratio", "state-space layers", "|0.0|0|"),
    TOLD_ROW_REFUSED("hybrid_mlp_ratio", "state-space layers", "|0.0|0|"),
    TOLD_ROW_REFUSED("experimental_attention_variant", "another attention", "|False|"),
    TOLD_ROW_REFUSED("dsa_indexer_topk", "another attention", NULL),
    TOLD_ROW_REFUSED("linear_attention_type", "linear attention", "|False|"),
    TOLD_ROW_REFUSED("linear_attention_freq", "linear attention", "|0|"),
    TOLD_ROW_REFUSED("attention_output_gate", "a gate behind its attention", "|False|"),
    TOLD_ROW_REFUSED("moe_latent_size", "experts of a latent width", "|0|"),
    TOLD_ROW_REFUSED("moe_shared_expert_gate", "a gate of its shared experts", "|False|"),
    TOLD_ROW_REFUSED("mtp_use_repeated_layer", "one layer for all further tokens", "|False|"),
    TOLD_ROW_REFUSED("heterogeneous_layers_config_path", "layers that differ", "|False|"),
    TOLD_ROW_REFUSED("heterogeneous_layers_config_encoded_json", "layers that differ", "|False|"),
    TOLD_ROW_REFUSED("spec", "layers of a module of its own", "|local|None None|"),
    TOLD_ROW_REFUSED("retro_add_retriever", "a retriever", "|False|"),
    TOLD_ROW_REFUSED("decoder_seq_length", "an encoder and a decoder", NULL),
    TOLD_ROW_REFUSED("encoder_tensor_model_parallel_size", "an encoder with a layout of its own",
                     "|0|"),
    TOLD_ROW_REFUSED("encoder_pipeline_model_parallel_size", "an encoder with a layout of its own",
                     "|0|"),
    TOLD_ROW_REFUSED("pipeline_model_parallel_split_rank", "an encoder and a decoder", NULL),
    TOLD_ROW_REFUSED("vision_pretraining", "images in the place of tokens", "|False|"),
    TOLD_ROW_REFUSED("gtp_weight_remat_size", "weights shared out another way", "|1|"),
    TOLD_ROW_REFUSED("tensor_parallel_num_weight_shards", "weights shared out another way", NULL),
    TOLD_ROW_REFUSED("expert_tensor_parallel_num_weight_shards", "weights shared out another way",
                     NULL),
    TOLD_ROW_REFUSED("expert_gtp_weight_remat_size", "weights shared out another way", "|1|"),
    TOLD_ROW_REFUSED("hybrid_context_parallel", "context parallelism that changes", "|False|"),
    TOLD_ROW_REFUSED("perform_rl_step", "rollouts beside training", "|False|"),
    TOLD_ROW_REFUSED("lora_dim", "adapters (lora)", "|0|"),
    /* what moves a step, and is not simulated, or by another key that is named */
    TOLD_ROW_LEFT("profile", "a profiler", "|False|0|"),
    TOLD_ROW_LEFT("use_nsys_profiler", "a profiler", "|False|"),
    TOLD_ROW_LEFT("deterministic_mode", "kernels that are deterministic", "|False|"),
    TOLD_ROW_LEFT("manual_gc", "garbage that is collected by the step", "|False|"),
    TOLD_ROW_LEFT("manual_gc_interval", "garbage that is collected by the step", "|0|"),
    TOLD_ROW_LEFT("use_ring_exchange_p2p", "a ring for messages between stages", "|False|"),
    TOLD_ROW_LEFT("overlap_param_gather_with_optimizer_step",
                  "weights gathered beside the optimizer", "|False|"),
    TOLD_ROW_LEFT("delay_wgrad_compute", "weight gradients that are put off", "|False|"),
    TOLD_ROW_LEFT("moe_shared_expert_overlap", "shared experts beside the exchange", "|False|"),
    TOLD_ROW_LEFT("fine_grained_activation_offloading", "activations that go to the host",
                  "|False|"),
    TOLD_ROW_LEFT("offload_modules", "activations that go to the host", "|[]|"),
    TOLD_ROW_LEFT("activation_offload_fraction", "activations that go to the host", "|1.0|"),
    TOLD_ROW_LEFT("use_sharp", "reductions in switches (collectives.data.algorithm: sharp)",
                  "|False|"),
    TOLD_ROW_LEFT("nccl_ub", "buffers that are registered with NCCL", "|False|"),
    TOLD_ROW_LEFT("disable_symmetric_registration", "buffers that are registered with NCCL",
                  "|False|"),
    TOLD_ROW_LEFT("symmetric_ar_type", "another all-reduce", NULL),
    TOLD_ROW_LEFT("use_transformer_engine_op_fuser", "fused MLPs (software.fusion.experts)",
                  "|False|"),
    TOLD_ROW_LEFT("reuse_grad_buf_for_mxfp8_param_ag", "gradients' buffers used twice", "|False|"),
    TOLD_ROW_LEFT("ddp_reduce_scatter_with_fp32_accumulation", "another reduce-scatter", "|False|"),
    TOLD_ROW_LEFT("ddp_param_name_patterns_for_fp32_local_accumulation", "gradients of two types",
                  "|[]|"),
    TOLD_ROW_LEFT("standalone_embedding_stage", "a stage for the embedding alone", "|False|"),
    TOLD_ROW_LEFT("disable_jit_fuser", "kernels that are not fused", "|False|"),
    TOLD_ROW_LEFT("disable_parameter_transpose_cache", "weights turned each time", "|False|"),
    TOLD_ROW_LEFT("activation_func_fp8_input_store", "activations kept in fp8", "|False|"),
    TOLD_ROW_LEFT("moe_paged_stash", "activations that are paged", "|False|"),
    TOLD_ROW_LEFT("mlp_chunks_for_training", "MLPs in pieces", "|1|"),
    TOLD_ROW_LEFT("mtp_standalone", "a stage for further tokens", "|False|"),
    TOLD_ROW_LEFT("mla_down_proj_fusion", "projections of latents in one product", "|False|"),
    TOLD_ROW_LEFT("fused_single_qkv_rope", "a fused rotation", "|False|"),
    TOLD_ROW_LEFT("fused_residual_rmsnorm", "norms joined with the residual", "|False|"),
    TOLD_ROW_LEFT("use_grouped_gemm_for_dense_mlp", "grouped products in dense MLPs", "|False|"),
    TOLD_ROW_LEFT("use_grouped_gemm_for_shared_expert", "grouped products in shared experts",
                  "|False|"),
    TOLD_ROW_LEFT("ep_overlap_early_attn_memory_release", "activations freed early", "|False|"),
    TOLD_ROW_LEFT("overlap_dispatch_backward_with_experts_wgrad",
                  "exchanges beside weight gradients", "|False|"),
    TOLD_ROW_LEFT("moe_permute_fusion_into_hybridep", "permutations within the exchange",
                  "|False|"),
    TOLD_ROW_LEFT("moe_expert_rank_capacity_factor", "a capacity of each rank", NULL),
    TOLD_ROW_LEFT("batch_p2p_comm", "messages in batches", "|True|"),
    TOLD_ROW_LEFT("fp8_output_proj", "logits in fp8 (software.fp8.head)", "|False|"),
    TOLD_ROW_LEFT("fp8_multi_head_attention", "attention in fp8 (software.fp8.attention)",
                  "|False|"),
    TOLD_ROW_LEFT("tp_only_amax_red", "another agreement on scales (software.fp8.amax)", "|False|"),
    TOLD_ROW_LEFT("moe_router_force_biased", "experts of another popularity (routing)", NULL),
    TOLD_ROW_LEFT("step_batch_size_schedule", "a batch that changes", NULL),
    TOLD_ROW_LEFT("freeze_all_layers", "layers that are not trained", "|False|"),
    TOLD_ROW_LEFT("sft", "sequences of documents (batch.document_length)", "|False|"),
    /* what command lines say in other words: the argument, and its value where that is given */
    SPELLING("no_bias_gelu_fusion", "bias_gelu_fusion", "False"),
    SPELLING("no_bias_swiglu_fusion", "bias_swiglu_fusion", "False"),
    SPELLING("no_bias_dropout_fusion", "bias_dropout_fusion", "False"),
    SPELLING("no_masked_softmax_fusion", "masked_softmax_fusion", "False"),
    SPELLING("no_rope_fusion", "apply_rope_fusion", "False"),
    SPELLING("no_gradient_accumulation_fusion", "gradient_accumulation_fusion", "False"),
    SPELLING("no_overlap_p2p_communication", "overlap_p2p_comm", "False"),
    SPELLING("overlap_p2p_communication", "overlap_p2p_comm", "True"),
    SPELLING("disable_bias_linear", "add_bias_linear", "False"),
    SPELLING("no_position_embedding", "add_position_embedding", "False"),
    SPELLING("no_fp8_wgrad", "fp8_wgrad", "False"), SPELLING("fp8_format", "fp8", NULL),
    SPELLING("fp4_format", "fp4", NULL),
    SPELLING("microbatch_group_size_per_virtual_pipeline_stage",
             "microbatch_group_size_per_vp_stage", NULL),
    SPELLING("no_async_tensor_model_parallel_allreduce", "async_tensor_model_parallel_allreduce",
             "False"),
    SPELLING("qk_nope_head_dim", "qk_head_dim", NULL),
    SPELLING("qk_rope_head_dim", "qk_pos_emb_head_dim", NULL),
    SPELLING("moe_expert_parallel_size", "expert_model_parallel_size", NULL),
    SPELLING("moe_train_capacity_factor", "moe_expert_capacity_factor", NULL),
    SPELLING("ds_sequence_parallel_size", "context_parallel_size", NULL),
    SPELLING("pad_vocab_size_to", "padded_vocab_size", NULL),
    SPELLING("num_moe_experts", "num_experts", NULL),
    SPELLING("no_manual_gc_eval", "manual_gc_eval", "False"),
    SPELLING("no_barrier_with_level_1_timing", "barrier_with_l1_time", "False"),
    SPELLING("no_mmap_bin_files", "mmap_bin_files", "False"),
    SPELLING("no_scatter_gather_tensors_in_pipeline", "scatter_gather_tensors_in_pipeline",
             "False"),
    SPELLING("no_one_logger", "enable_one_logger", "False"),
    SPELLING("no_check_for_nan_in_loss_and_grad", "check_for_nan_in_loss_and_grad", "False"),
    SPELLING("no_check_for_nan_in_loss", "check_for_nan_in_loss", "False"),
    SPELLING("disable_gloo_process_groups", "enable_gloo_process_groups", "False"),
    SPELLING("no_use_gloo_process_groups", "enable_gloo_process_groups", "False"),
    SPELLING("no_initialization", "perform_initialization", "False"),
    SPELLING("no_persist_layer_norm", "persist_layer_norm", "False"),
    SPELLING("no_data_sharding", "data_sharding", "False"),
    SPELLING("no_log_loss_scale_to_tensorboard", "log_loss_scale_to_tensorboard", "False"),
    SPELLING("no_log_learnig_rate_to_tensorboard", "log_learning_rate_to_tensorboard", "False"),
    SPELLING("no_clone_scatter_output_in_embedding", "clone_scatter_output_in_embedding", "False"),
    SPELLING("no_ckpt_fully_parallel_save", "ckpt_fully_parallel_save", "False"),
    SPELLING("no_align_grad_reduce", "align_grad_reduce", "False"),
    SPELLING("no_align_param_gather", "align_param_gather", "False"),
    SPELLING("no_delay_grad_reduce", "delay_grad_reduce", "False"),
    SPELLING("no_gradient_reduce_div_fusion", "gradient_reduce_div_fusion", "False"),
    SPELLING("no_use_tokenizer_model_from_checkpoint_args",
             "use_tokenizer_model_from_checkpoint_args", "False"),
    SPELLING("no_pin_cpu_grads", "pin_cpu_grads", "False"),
    SPELLING("no_pin_cpu_params", "pin_cpu_params", "False"),
    SPELLING("no_strict_fsdp_dtensor_load", "strict_fsdp_dtensor_load", "False"),
    SPELLING("no_async_ckpt_use_cpu_shm", "async_ckpt_use_cpu_shm", "False"),
    SPELLING("torch_fsdp2_no_reshard_after_forward", "torch_fsdp2_reshard_after_forward", "False"),
    SPELLING("use_nccl_ub", "nccl_ub", "True"),
    SPELLING("bert_no_binary_head", "bert_binary_head", "False"),
    SPELLING("disable_tp_comm_split_ag", "tp_comm_split_ag", "False"),
    SPELLING("disable_tp_comm_split_rs", "tp_comm_split_rs", "False"),
    SPELLING("disable_tp_comm_bulk_dgrad", "tp_comm_bulk_dgrad", "False"),
    SPELLING("disable_tp_comm_bulk_wgrad", "tp_comm_bulk_wgrad", "False"),
    SPELLING("disable_tp_comm_overlap_ag", "tp_comm_overlap_ag", "False"),
    SPELLING("disable_tp_comm_overlap_rs", "tp_comm_overlap_rs", "False")};

const struct told_table megatron_arguments = {arguments, sizeof arguments / sizeof *arguments, read,
                                              aside, sizeof aside / sizeof *aside};

struct told_row megatron_argument(const char *name)
{
    return told_row_of(&megatron_arguments, name);
}

bool megatron_is_flag(const char *name)
{
    return told_has_word(flags, name);
}

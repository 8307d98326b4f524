#include "support/sample_result.h"

#include <stdio.h>
#include <string.h>

static void fill_scenario(struct sample *sample)
{
    struct scenario *scenario = &sample->scenario;
    *scenario = (struct scenario){.title = "Llama-3 70B on 8 H100",
                                  .gpus = 8,
                                  .nodes = 1,
                                  .precision = PRECISION_BF16,
                                  .run_tokens = 15.6e12,
                                  .checkpoint = {.is_enabled = true},
                                  .seed = 42,
                                  .resolved_text = "{model: {model: llama3-70b}, gpus: 8}"};
    scenario->model = (struct model){.name = "llama3-70b",
                                     .layers = 80,
                                     .hidden = 8192,
                                     .ffn_hidden = 28672,
                                     .heads = 64,
                                     .kv_heads = 8,
                                     .head_dim = 128,
                                     .vocab = 128256,
                                     .max_positions = 8192,
                                     .mlp = MLP_SWIGLU,
                                     .norm = NORM_RMSNORM,
                                     .positions = POSITION_ROTARY};
    model_finish(&scenario->model);
    scenario->cluster.name = "h100-3200";
    scenario->gpu.name = "h100-sxm5-80gb";
    scenario->software.name = "megatron-2024";
    scenario->parallel = (struct parallel){.tp = 4,
                                           .cp = 1,
                                           .pp = 2,
                                           .dp = 1,
                                           .ep = 1,
                                           .zero = 1,
                                           .schedule = SCHEDULE_1F1B,
                                           .virtual_stages = 1};
    scenario->batch = (struct batch){.global = 16, .micro = 1, .sequence_length = 8192};
    sample->assumptions[0] =
        (struct assumption){.name = "gpu.price.gpu_hour", .value = "2.00 USD", .reason = "a guess"};
    sample->assumptions[1] = (struct assumption){
        .name = "gpu.power.idle_fraction", .value = "0.2", .reason = "like other GPUs of its time"};
    scenario->assumptions =
        (struct assumptions){.items = sample->assumptions, .count = 2, .capacity = 10};
}

static void fill_step(struct step_result *step)
{
    step->step_ns = SAMPLE_STEP_NS;
    step->gpu_ns[CAUSE_COMPUTE] = 4 * SAMPLE_STEP_NS;
    step->gpu_ns[CAUSE_BUBBLE] = 2 * SAMPLE_STEP_NS;
    step->gpu_ns[CAUSE_EXPOSED_DP] = SAMPLE_STEP_NS;
    step->gpu_ns[CAUSE_LAUNCH] = SAMPLE_STEP_NS;
    step->model_flop_tokens = INT64_C(16) * 8192;
    step->flop_per_token_causal = 4.3e11;
    step->flop_per_token_full = 4.6e11;
    step->hardware_flop_per_token = 4.4e11;
    step->peak_flop_per_s = 989.4e12;
    step->tokens_per_s_per_gpu = 2370.25;
    step->tflops_per_gpu = 1019.2;
    step->mfu = 0.413;
    step->mfu_full_attention = 0.442;
    step->hfu = 0.4226;
    step->busiest_link = "NIC";
    step->busiest_link_utilisation = 0.375;
    step->memory = (struct memory_verdict){.fits = true,
                                           .fits_gpu = true,
                                           .worst_stage = 0,
                                           .worst = {.weights_bytes = 35e9,
                                                     .gradients_bytes = 17.5e9,
                                                     .optimizer_bytes = 10e9,
                                                     .activations_bytes = 8e9,
                                                     .logits_bytes = 1e9,
                                                     .overhead_bytes = 3e9,
                                                     .total_bytes = 73.5e9},
                                           .limit_bytes = 80e9};
    step->bound_by = "compute (50 % of the step)";
    step->engine = (struct engine_use){.ranks = 8,
                                       .ranks_simulated = 2,
                                       .links_simulated = 4,
                                       .tasks = 1234567,
                                       .events = 7654321,
                                       .solves = 99,
                                       .host_s = 0.125,
                                       .host_peak_bytes = 12345678};
}

void sample_init(struct sample *sample)
{
    memset(sample, 0, sizeof *sample);
    fill_scenario(sample);
    struct result *result = &sample->result;
    result->scenario = &sample->scenario;
    result->build = SAMPLE_BUILD;
    result->power_w = 8125000;
    result->power_peak_w = 9375000;
    snprintf(result->key, sizeof result->key, "%s", SAMPLE_KEY);
    snprintf(result->scenario_key, sizeof result->scenario_key, "%s", SAMPLE_SCENARIO_KEY);
    fill_step(&result->step);
    static struct run_failure failures[] = {{"gpu", 2.5, 1.25}};
    result->run = (struct run_result){.is_asked = true,
                                      .repetitions = 200,
                                      .histories_s = "5184000.000 5270400.125",
                                      .days_spread = {66.8, 0.25, 60.5, 66.5, 71.25},
                                      .goodput_spread = {0.9, 0.01, 0.85, 0.905, 0.95},
                                      .interruptions = 2.5,
                                      .mtbf_s = 11135,
                                      .effective_training_time_ratio = 0.91,
                                      .failures = failures,
                                      .failure_count = 1,
                                      .steps = 119018555,
                                      .tokens = 15.6e12,
                                      .days = 54.25,
                                      .gpu_hours = 10416,
                                      .goodput = 0.98,
                                      .checkpoint_bytes = 1e12,
                                      .checkpoint_s = 1.5,
                                      .checkpoints = 100,
                                      .cost_usd = 20832,
                                      .energy_kwh = 5832.5};
}

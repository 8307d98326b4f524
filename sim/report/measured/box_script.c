/* A program in Python that a user runs where stoker is not. What it prints is what
 * measured/box_numbers reads: its fields come from that table.
 */
#include "report/measured/box_sheet.h"

#include "measured/box_numbers.h"

#include <string.h>

/* clang-format off */
static const char *const head[] = {
    "#!/usr/bin/env python3",
    "\"\"\"Six numbers of this machine for `stoker calibrate box`, with PyTorch, in ten minutes.",
    "",
    "One GPU:   python3 box.py --cluster h100-3200 > mine.yaml",
    "A node:    torchrun --nproc-per-node 8 box.py --cluster h100-3200 > mine.yaml",
    "Nodes:     torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d \\\\",
    "               --rdzv-endpoint HOST:29500 box.py --cluster h100-3200 > mine.yaml",
    "",
    "Then:      stoker calibrate box mine.yaml -o mine-box.yaml",
    "           and in a scenario: box: ./mine-box.yaml",
    "",
    "Each number is a median of samples between two CUDA events, after a warm-up at full load:",
    "a GPU that has just begun runs at clocks that it cannot hold. Leave nothing else running.",
    "\"\"\"",
    "import argparse",
    "import os",
    "import statistics",
    "import sys",
    "import time",
    "",
    "import torch",
    "",
};

static const char *const body[] = {
    "SIZES = {  # of what is measured; gemm_large must run for some milliseconds",
    "    \"gemm_large\": {\"m\": 16384, \"n\": 16384, \"k\": 16384},",
    "    \"gemm_small\": {\"m\": 4096, \"n\": 2048, \"k\": 1024},",
    "    \"attention\": {\"sequences\": 2, \"heads\": 32, \"kv_heads\": 32, \"length\": 8192,",
    "                  \"head_dim\": 128, \"causal\": True},",
    "    \"copy\": {\"bytes\": 4 << 30},",
    "    \"all_reduce\": {\"bytes\": 4 << 30},",
    "}",
    "WARM_UP_S = 3.0      # at full load, first: clocks settle under the power limit",
    "SAMPLE_S = 0.5       # of repetitions in a row between two CUDA events",
    "SAMPLES = 11         # of which the median counts",
    "COLLECTIVES = 20     # repetitions in a row of an all-reduce: as many on all ranks",
    "TORCH_DTYPES = {\"fp32\": torch.float32, \"tf32\": torch.float32, \"fp16\": torch.float16,",
    "                \"bf16\": torch.bfloat16, \"fp8\": getattr(torch, \"float8_e4m3fn\", None)}",
    "",
    "",
    "def sample(work, count):",
    "    \"\"\"Seconds of one repetition, of `count` in a row between two CUDA events.\"\"\"",
    "    start = torch.cuda.Event(enable_timing=True)",
    "    stop = torch.cuda.Event(enable_timing=True)",
    "    start.record()",
    "    for _ in range(count):",
    "        work()",
    "    stop.record()",
    "    torch.cuda.synchronize()",
    "    return start.elapsed_time(stop) / 1e3 / count",
    "",
    "",
    "def median_s(work, count=None):",
    "    \"\"\"The median of SAMPLES, of `count` in a row (None: SAMPLE_S), after a warm-up.\"\"\"",
    "    end = time.monotonic() + WARM_UP_S",
    "    while count is None and time.monotonic() < end:",
    "        sample(work, 10)",
    "    if count is None:",
    "        count = max(10, int(SAMPLE_S / sample(work, 10)))",
    "    else:",
    "        sample(work, 3 * count)",
    "    return statistics.median(sample(work, count) for _ in range(SAMPLES))",
    "",
    "",
    "def product(m, n, k, dtype):",
    "    torch.backends.cuda.matmul.allow_tf32 = dtype == \"tf32\"",
    "    kind = TORCH_DTYPES.get(dtype)",
    "    if kind is None:",
    "        sys.exit(f\"this script has no product in {dtype} with this PyTorch\")",
    "    if dtype == \"fp8\":",
    "        one = torch.ones((), device=\"cuda\")",
    "        a = torch.randn(m, k, device=\"cuda\").to(kind)",
    "        b = torch.randn(n, k, device=\"cuda\").to(kind).t()",
    "        return lambda: torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16)",
    "    a = torch.randn(m, k, device=\"cuda\", dtype=kind)",
    "    b = torch.randn(n, k, device=\"cuda\", dtype=kind).t()  # as a linear layer has it",
    "    out = torch.empty(m, n, device=\"cuda\", dtype=kind)",
    "    return lambda: torch.mm(a, b, out=out)",
    "",
    "",
    "def gemm(name, dtype):",
    "    sizes = SIZES[name]",
    "    seconds = median_s(product(dtype=dtype, **sizes))",
    "    return {**sizes, \"dtype\": dtype, \"time\": ms(seconds)}",
    "",
    "",
    "def attention(kernel):",
    "    from torch.nn.attention import SDPBackend, sdpa_kernel",
    "    fused = torch.nn.functional.scaled_dot_product_attention",
    "    sizes = SIZES[\"attention\"]",
    "    backends = {\"cudnn\": SDPBackend.CUDNN_ATTENTION, \"fa2\": SDPBackend.FLASH_ATTENTION}",
    "    shape = (sizes[\"sequences\"], sizes[\"heads\"], sizes[\"length\"], sizes[\"head_dim\"])",
    "    kind = {\"device\": \"cuda\", \"dtype\": torch.bfloat16, \"requires_grad\": True}",
    "    q, k, v = (torch.randn(shape, **kind) for _ in range(3))",
    "",
    "    def forward():",
    "        return fused(q, k, v, is_causal=sizes[\"causal\"])",
    "",
    "    with sdpa_kernel([backends[kernel]]):",
    "        out = forward()",
    "        grad = torch.randn_like(out)",
    "        with torch.no_grad():",
    "            forward_s = median_s(forward)",
    "        backward_s = median_s(",
    "            lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True))",
    "    times = {\"forward\": ms(forward_s), \"backward\": ms(backward_s)}",
    "    return {\"kernel\": kernel, **sizes, **times}",
    "",
    "",
    "def copy():",
    "    size = SIZES[\"copy\"][\"bytes\"]",
    "    source = torch.empty(size, dtype=torch.uint8, device=\"cuda\").zero_()",
    "    target = torch.empty_like(source)",
    "    return {\"bytes\": f\"{size} B\", \"time\": ms(median_s(lambda: target.copy_(source)))}",
    "",
    "",
    "def all_reduce():",
    "    \"\"\"The slowest rank's median; None without torchrun.\"\"\"",
    "    if \"RANK\" not in os.environ:",
    "        return None",
    "    import torch.distributed as dist",
    "    size = SIZES[\"all_reduce\"][\"bytes\"]",
    "    data = torch.zeros(size // 2, dtype=torch.bfloat16, device=\"cuda\")",
    "    seconds = median_s(lambda: dist.all_reduce(data), count=COLLECTIVES)",
    "    slowest = torch.tensor([seconds], device=\"cuda\")",
    "    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)",
    "    world = dist.get_world_size()",
    "    nodes = world // int(os.environ[\"LOCAL_WORLD_SIZE\"])",
    "    group = {\"gpus\": world, \"nodes\": nodes}",
    "    return {\"bytes\": f\"{size} B\", **group, \"time\": ms(slowest.item())}",
    "",
    "",
    "def ms(seconds):",
    "    return f\"{1e3 * seconds:.6g} ms\"",
    "",
    "",
    "def text(value):",
    "    return str(value).lower() if isinstance(value, bool) else str(value)",
    "",
    "",
    "def say(name, values):",
    "    \"\"\"One line of the file. Its fields are those that the reader knows.\"\"\"",
    "    known = FIELDS[name]",
    "    assert set(values) <= set(known), (name, set(values) - set(known))",
    "    pairs = [f\"{key}: {text(values[key])}\" for key in known if key in values]",
    "    print(name + \": {\" + \", \".join(pairs) + \"}\", flush=True)",
    "",
    "",
    "def main():",
    "    parser = argparse.ArgumentParser(description=__doc__,",
    "                                     formatter_class=argparse.RawDescriptionHelpFormatter)",
    "    parser.add_argument(\"--name\", default=\"box\")",
    "    parser.add_argument(\"--cluster\", help=\"of `stoker list clusters`\")",
    "    parser.add_argument(\"--gpu\", help=\"of `stoker list gpus`, without --cluster\")",
    "    parser.add_argument(\"--dtype\", default=\"bf16\", choices=DTYPES)",
    "    parser.add_argument(\"--kernel\", default=\"cudnn\", choices=[\"cudnn\", \"fa2\"])",
    "    parser.add_argument(\"--numbers\", nargs=\"*\", default=list(SIZES), choices=list(SIZES))",
    "    parser.add_argument(\"--step-scenario\", help=\"of a step that you have timed ...\")",
    "    parser.add_argument(\"--step-time\", help=\"... and what it took: '4.1 s'\")",
    "    options = parser.parse_args()",
    "    if not options.cluster and not options.gpu:",
    "        parser.error(\"--cluster or --gpu is needed\")",
    "    torch.cuda.set_device(int(os.environ.get(\"LOCAL_RANK\", 0)))",
    "    if \"RANK\" in os.environ:",
    "        import torch.distributed as dist",
    "        dist.init_process_group(\"nccl\")",
    "    measured = {}",
    "    for name in options.numbers:  # on all ranks: GPUs of a node get warm together",
    "        measured[name] = (gemm(name, options.dtype) if name.startswith(\"gemm\") else",
    "                          attention(options.kernel) if name == \"attention\" else",
    "                          copy() if name == \"copy\" else all_reduce())",
    "        torch.cuda.empty_cache()",
    "    if int(os.environ.get(\"RANK\", 0)) == 0:",
    "        print(f\"box: {options.name}\")",
    "        part = \"cluster\" if options.cluster else \"gpu\"",
    "        print(f\"{part}: {options.cluster or options.gpu}\")",
    "        print(f\"source: 'PyTorch {torch.__version__}, CUDA {torch.version.cuda}, \"",
    "              f\"{torch.cuda.get_device_name()}, medians of {SAMPLES} samples'\")",
    "        for name, values in measured.items():",
    "            if values is not None:",
    "                say(name, values)",
    "        if options.step_scenario:",
    "            say(\"step\", {\"scenario\": options.step_scenario, \"time\": options.step_time})",
    "    if \"RANK\" in os.environ:",
    "        dist.destroy_process_group()",
    "",
    "",
    "main()",
};
/* clang-format on */

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void print_lines(const char *const *lines, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s\n", lines[i]);
    }
}

/* "gemm_large": ["m", "n", ...]: what is below a key. */
static void print_fields(const char *key, FILE *out)
{
    const size_t length = strlen(key);
    const char *comma = "";
    fprintf(out, "    \"%s\": [", key);
    for (uint32_t i = 0; i < box_number_keys.count; i++) {
        const char *path = box_number_keys.rows[i].path;
        if (strncmp(path, key, length) == 0 && path[length] == '.') {
            fprintf(out, "%s\"%s\"", comma, path + length + 1);
            comma = ", ";
        }
    }
    fputs("],\n", out);
}

void box_script_print(FILE *out)
{
    print_lines(head, LENGTH(head), out);
    fputs("FIELDS = {  # of each number, as the reader has them\n", out);
    for (uint32_t i = 0; i < BOX_NUMBER_COUNT_; i++) {
        print_fields(box_number_rows[i].key, out);
    }
    fputs("}\nDTYPES = [", out);
    for (uint32_t i = 0; i < PRECISION_COUNT_; i++) {
        fprintf(out, "%s\"%s\"", i > 0 ? ", " : "", precision_names[i]);
    }
    fputs("]\n", out);
    print_lines(body, LENGTH(body), out);
}

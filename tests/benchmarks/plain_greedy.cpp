// Plain greedy decoding, one token at a time: the peer of a baseline run.
//
// After llama.cpp's examples/simple, which takes none of the settings that have to be equal. As in
// examples/speculative-simple the clock runs from the end of prefill, and prefill leaves out the
// prompt's last token. Prints the text on standard output and the figures on standard error.
//
// usage: plain_greedy MODEL PROMPT N_PREDICT N_THREADS N_CTX REPACK(0|1)

#include "ggml.h"
#include "llama.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static void quiet(enum ggml_log_level, const char *, void *) {}

int main(int argc, char ** argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: %s MODEL PROMPT N_PREDICT N_THREADS N_CTX REPACK\n", argv[0]);
        return 2;
    }
    const std::string prompt = argv[2];
    const int n_predict = atoi(argv[3]);

    llama_log_set(quiet, nullptr);
    llama_backend_init();

    llama_model_params model_params = llama_model_default_params();
    model_params.use_extra_bufts = atoi(argv[6]) != 0;
    llama_model * model = llama_model_load_from_file(argv[1], model_params);
    if (!model) {
        fprintf(stderr, "the model cannot be loaded\n");
        return 1;
    }
    const llama_vocab * vocab = llama_model_get_vocab(model);

    llama_context_params params = llama_context_default_params();
    params.n_ctx = atoi(argv[5]);
    params.n_threads = params.n_threads_batch = atoi(argv[4]);
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    llama_context * ctx = llama_init_from_model(model, params);
    if (!ctx) {
        fprintf(stderr, "the context cannot be set up\n");
        return 1;
    }

    const int n_prompt = -llama_tokenize(vocab, prompt.data(), prompt.size(), nullptr, 0, true, true);
    std::vector<llama_token> tokens(n_prompt);
    llama_tokenize(vocab, prompt.data(), prompt.size(), tokens.data(), n_prompt, true, true);

    llama_sampler * sampler = llama_sampler_chain_init(llama_sampler_chain_default_params());
    llama_sampler_chain_add(sampler, llama_sampler_init_greedy());

    // one step unrecorded, as both other programs do
    llama_decode(ctx, llama_batch_get_one(tokens.data(), 1));
    llama_synchronize(ctx);
    llama_memory_clear(llama_get_memory(ctx), true);

    const int64_t t_begin = ggml_time_us();
    if (n_prompt > 1 && llama_decode(ctx, llama_batch_get_one(tokens.data(), n_prompt - 1)) != 0) {
        fprintf(stderr, "the prompt cannot be evaluated\n");
        return 1;
    }
    llama_synchronize(ctx);
    const int64_t t_prefilled = ggml_time_us();

    llama_token last = tokens.back();
    int n_decoded = 0;
    while (n_decoded < n_predict) {
        if (llama_decode(ctx, llama_batch_get_one(&last, 1)) != 0) {
            fprintf(stderr, "a step cannot be evaluated\n");
            return 1;
        }
        last = llama_sampler_sample(sampler, ctx, -1);
        if (llama_vocab_is_eog(vocab, last)) {
            break;
        }
        n_decoded++;
        char piece[256];
        const int size = llama_token_to_piece(vocab, last, piece, sizeof(piece), 0, true);
        if (size > 0) {
            fwrite(piece, 1, size, stdout);
            fflush(stdout);
        }
    }
    const double prefill_s = (t_prefilled - t_begin) / 1e6;
    const double decode_s = (ggml_time_us() - t_prefilled) / 1e6;
    fprintf(stderr, "encoded %4d tokens in %8.6f seconds, speed: %8.3f t/s\n", n_prompt, prefill_s, n_prompt / prefill_s);
    fprintf(stderr, "decoded %4d tokens in %8.6f seconds, speed: %8.3f t/s\n", n_decoded, decode_s, n_decoded / decode_s);

    llama_sampler_free(sampler);
    llama_free(ctx);
    llama_model_free(model);
    llama_backend_free();
    return 0;
}

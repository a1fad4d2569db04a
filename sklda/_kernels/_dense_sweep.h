/* The sweep of _dense.h for one instruction set. TARGET is its attribute, and FOR_SET(f) the name of f for it. */

/* The weights of a token at the present scale. */
TARGET static inline void FOR_SET(weigh_token)(const dense_state *s, int64_t word, double *running, double *passed)
{
    const uint16_t *shorts = s->rows + word * s->P;
    const int32_t *longs = long_row(s, word);
    const float *prior = s->topic_prior ? s->topic_prior + word * s->P : NULL;
    float eta = prior ? 0 : (float)s->word_prior[word];
    if (longs || prior)
        FOR_SET(run_lanes)(shorts, longs, eta, prior, s->scale, s->P, running);
    else
        FOR_SET(run_lanes)(shorts, NULL, eta, NULL, s->scale, s->P, running);
    FOR_SET(accumulate)(running + s->P - LANES, passed);
}

TARGET static inline void FOR_SET(remove_token)(const dense_state *s, int64_t word, int32_t topic)
{
    FOR_SET(add_to_row)(s->rows + word * s->P, long_row(s, word), topic, -1);
    s->counts[topic] -= 1;
    s->totals[topic] -= 1;
    s->after[topic] = s->inverse[topic];
    s->inverse[topic] = (float)(1.0 / (s->totals[topic] + s->prior_totals[topic]));
    FOR_SET(put_scale)(s->scale, topic, ((float)s->counts[topic] + (float)s->alpha[topic]) * s->inverse[topic]);
}

TARGET static inline void FOR_SET(add_token)(const dense_state *s, int64_t word, int32_t topic)
{
    FOR_SET(add_to_row)(s->rows + word * s->P, long_row(s, word), topic, 1);
    s->counts[topic] += 1;
    s->totals[topic] += 1;
    s->inverse[topic] = s->after[topic];
    s->after[topic] = (float)(1.0 / (s->totals[topic] + 1 + s->prior_totals[topic]));
    FOR_SET(put_scale)(s->scale, topic, ((float)s->counts[topic] + (float)s->alpha[topic]) * s->inverse[topic]);
}

/* A draw from `gain` for the topic `gained` and the weights whose sums are given. */
TARGET static inline int32_t FOR_SET(draw_topic)(const dense_state *s, const double *running, const double *passed,
                                                 double gain, int32_t gained, uint64_t *state)
{
    const double *sums = running + s->P - LANES;
    double u = uniform(state) * (passed[LANES] + gain) - gain;
    int again = u < 0, lane;
    u = again ? 0 : u;
    int n = FOR_SET(count_passed)(passed, u);
    if (n < LANES && sums[4 * (n & 3) + (n >> 2)] > 0) {
        lane = 4 * (n & 3) + (n >> 2);
        n -= 1;
        u -= passed[n < 0 ? LANES + 1 : 4 * (n & 3) + (n >> 2)];
    } else {
        /* Rounding moved u past the last weight, or no sum is finite and positive. */
        lane = some_lane(sums);
    }
    int64_t j = FOR_SET(count_column)(running + lane, s->P / LANES, u);
    if (j >= s->P / LANES)
        j = last_rise(running + lane, s->P / LANES);
    int32_t topic = (int32_t)(lane + j * LANES);
    topic = again ? gained : topic;
    return topic < s->K ? topic : 0;
}

TARGET static void FOR_SET(sweep_tokens)(const dense_state *own, const int32_t *restrict words, int64_t n_words,
                                         int64_t first, int64_t n, int64_t step, int32_t *restrict topics)
{
    const dense_state s = *own;
    lane_sums tables[2] = {{0}};
    uint64_t state[4];
    double gain = 0;
    int32_t new = 0;
    memcpy(state, s.state, sizeof state);
    for (int64_t count = -1, i = first - step; count < n; count++, i += step) {
        int64_t next = i + step, ahead = next + step, odd = (count + 1) & 1;
        double *running = s.running + odd * s.P, *passed = tables[odd];
        if (ahead >= 0 && ahead < n_words)
            for (int64_t j = 0; j < s.P; j += 32)
                PREFETCH(s.rows + words[ahead] * s.P + j);
        if (count + 1 < n) {
            if (topics[next] >= 0)
                FOR_SET(remove_token)(&s, words[next], topics[next]);
            FOR_SET(weigh_token)(&s, words[next], running, passed);
        }
        if (count < 0)
            continue;
        new = FOR_SET(draw_topic)(&s, s.running + (1 - odd) * s.P, tables[1 - odd], gain, new, state);
        topics[i] = new;
        if (count + 1 < n) {
            /* What the next token's weight of this topic gains, as it was computed without this token. */
            int64_t word = words[next];
            const int32_t *longs = long_row(&s, word);
            float m = longs ? (float)longs[new] : (float)s.rows[word * s.P + new];
            float eta = s.topic_prior ? s.topic_prior[word * s.P + new] : (float)s.word_prior[word];
            float before = (m + eta) * s.scale[new];
            FOR_SET(add_token)(&s, words[i], new);
            gain = (double)((m + (word == words[i]) + eta) * s.scale[new]) - (double)before;
            if (!(gain >= 0)) {
                /* A topic with few tokens can lose weight where alpha is larger than the sum of eta. */
                gain = 0;
                FOR_SET(weigh_token)(&s, word, running, passed);
            }
        } else {
            FOR_SET(add_token)(&s, words[i], new);
        }
    }
    memcpy(s.state, state, sizeof state);
}

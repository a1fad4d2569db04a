/* The sweep of _dense.h for one instruction set. TARGET is its attribute, and FOR_SET(f) the name of f for it. */

/* The topic at the point u of the weights whose sums are given. */
TARGET static inline int32_t FOR_SET(find_topic)(const dense_state *s, const double *passed, double u)
{
    const double *sums = s->running + s->P - LANES;
    int n = FOR_SET(count_passed)(passed, u), lane;
    if (n < LANES && sums[4 * (n & 3) + (n >> 2)] > 0) {
        lane = 4 * (n & 3) + (n >> 2);
        n -= 1;
        u -= passed[n < 0 ? LANES + 1 : 4 * (n & 3) + (n >> 2)];
    } else {
        /* Rounding moved u past the last weight, or no sum is finite and positive. */
        lane = some_lane(sums);
    }
    int64_t j = FOR_SET(count_column)(s->running + lane, s->P / LANES, u);
    if (j >= s->P / LANES)
        j = last_increase(s->running + lane, s->P / LANES, LANES);
    int32_t topic = (int32_t)(lane + j * LANES);
    return topic < s->K ? topic : 0;
}

/* Add `step`, 1 or -1, to the counts of a topic. Its m_k + sum of eta becomes `total`. */
TARGET static inline void FOR_SET(shift)(const dense_state *s, uint16_t *shorts, int32_t *longs, int32_t topic, int step,
                                         double total)
{
    FOR_SET(add_to_row)(shorts, longs, topic, step);
    s->counts[topic] += step;
    s->totals[topic] += step;
    s->inverse[topic] = (float)(1.0 / total);
    FOR_SET(put_scale)(s->scale, topic, ((float)s->counts[topic] + (float)s->alpha[topic]) * s->inverse[topic]);
}

TARGET static void FOR_SET(sweep_tokens)(const dense_state *own, const int32_t *restrict words, int64_t n_words,
                                         int64_t first, int64_t n, int64_t step, int64_t next,
                                         int32_t *restrict topics)
{
    const dense_state s = *own;
    lane_sums passed = {0};
    uint64_t state[4];
    memcpy(state, s.state, sizeof state);
    for (int64_t count = 0, i = first; count < n; count++, i += step) {
        int64_t word = words[i], beyond = count + 2 - n, ahead = beyond < 0 ? i + 2 * step : next + beyond * step;
        int32_t t = topics[i], new, *longs = long_row(&s, word);
        uint16_t *shorts = s.rows + word * s.P;
        const float *prior = s.topic_prior ? s.topic_prior + word * s.P : NULL;
        double eta = prior ? (t >= 0 ? (double)prior[t] : 0) : s.word_prior[word], stay = 0, left = 0, u;
        float kept = 0;
        if (ahead >= 0 && ahead < n_words)
            for (int64_t j = 0; j < s.P; j += 32)
                PREFETCH(s.rows + words[ahead] * s.P + j);
        if (prior && ahead >= 0 && ahead < n_words)
            for (int64_t j = 0; j < s.P; j += 16)
                PREFETCH(s.topic_prior + words[ahead] * s.P + j);
        if (t >= 0) {
            /* The sums exclude the current topic: if its weight were subtracted, rounding could lose small weights. */
            kept = s.scale[t];
            FOR_SET(put_scale)(s.scale, t, 0);
            left = s.totals[t] - 1 + s.prior_totals[t];
            stay = (s.counts[t] - 1 + s.alpha[t]) * ((longs ? longs[t] : shorts[t]) - 1 + eta) / left;
        }
        /* Each case has its own loop, which compilers vectorise. */
        if (longs)
            FOR_SET(run_lanes)(shorts, longs, (float)eta, prior, s.scale, s.P, s.running);
        else if (prior)
            FOR_SET(run_lanes)(shorts, NULL, 0, prior, s.scale, s.P, s.running);
        else
            FOR_SET(run_lanes)(shorts, NULL, (float)eta, NULL, s.scale, s.P, s.running);
        FOR_SET(accumulate)(s.running + s.P - LANES, passed);
        u = uniform(state) * (passed[LANES] + stay) - stay;
        if (u < 0) {
            FOR_SET(put_scale)(s.scale, t, kept);
            continue;
        }
        new = FOR_SET(find_topic)(&s, passed, u);
        topics[i] = new;
        if (t >= 0)
            FOR_SET(shift)(&s, shorts, longs, t, -1, left);
        FOR_SET(shift)(&s, shorts, longs, new, 1, s.totals[new] + 1 + s.prior_totals[new]);
    }
    memcpy(s.state, state, sizeof state);
}

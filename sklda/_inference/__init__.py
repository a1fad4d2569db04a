"""The middle floor: algorithms on arrays and chains. It knows the kernels below and no estimator above."""

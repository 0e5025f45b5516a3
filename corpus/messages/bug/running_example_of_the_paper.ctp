// The running example in the form of the paper.
// expect: bug assertion
// matchings: 2

(ctp
  ((T0_0 (rcvi A 0 a)) (T0_1 (wait A)) (T0_2 (rcvi B 0 b)) (T0_3 (wait B))
   (T0_4 (assume (> b 0))) (T0_5 (assert (= a 4))))
  ((T1_0 (rcvi C 1 c)) (T1_1 (wait C)) (T1_2 (sndi s3 1 0 "1")) (T1_3 (wait s3)))
  ((T2_0 (sndi s1 2 0 "4")) (T2_1 (wait s1)) (T2_2 (sndi s2 2 1 "Go")) (T2_3 (wait s2)))
)

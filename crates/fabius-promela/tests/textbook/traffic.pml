/* ok */
mtype = { red, green, yellow }; mtype ns = green, ew = red;
active proctype NS() { do :: ew == red && ns == red -> atomic { ew == red -> ns = green }; ns = yellow; ns = red :: ns == green -> ns = yellow; ns = red od }
active proctype EW() { do :: atomic { ns == red && ew == red -> ew = green }; ew = yellow; ew = red od }
ltl safe { [] !(ns == green && ew == green) } /* ok */
ltl after { [] (ns == green -> (ns == green U (ns == yellow || [] (ns == green)))) } /* ok */

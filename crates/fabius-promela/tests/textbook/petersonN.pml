/* ok */
#define N 3
byte turn[N], flag[N];
byte ncrit;
active [N] proctype user()
{	byte j, k;
again:
	k = 0;
	do
	:: k < N - 1 ->
		flag[_pid] = k + 1;
		turn[k] = _pid;
		/* wait */
		j = 0;
		do
		:: j == _pid -> j++
		:: j != _pid && j < N ->
			if
			:: flag[j] < k + 1 || turn[k] != _pid -> j++
			fi
		:: j >= N -> break
		od;
		k++
	:: else -> break
	od;
	ncrit++;
	assert(ncrit == 1);
	ncrit--;
	flag[_pid] = 0;
	goto again
}

/* ok */
mtype = { val };
chan q[4] = [1] of { mtype, byte };
byte out[3]; byte done;
proctype left() {
  byte c = 0; byte v;
  q[0]!val(5); q[0]!val(3); q[0]!val(7)
}
proctype middle(byte id; byte n) {
  byte myval, nextval, counter;
  q[id]?val(myval);
  counter = n;
  do
  :: counter > 1 ->
     q[id]?val(nextval);
     if
     :: nextval >= myval -> q[id+1]!val(nextval)
     :: nextval < myval -> q[id+1]!val(myval); myval = nextval
     fi;
     counter--
  :: counter == 1 -> break
  od;
  out[id] = myval; done++
}
init { atomic { run left(); run middle(0,3); run middle(1,2); run middle(2,1) };
  done == 3; assert(out[0] <= out[1] && out[1] <= out[2]) }

/* ok */
active proctype loop()
{ byte a, b;
  do
  :: a = (a+1)%3;
     if
     :: b = 2*a;
     :: b = 2*a + 1
     fi
  :: b--
  od
}

/* ok */
#define R 3
byte readers, writers; bool wait;
active [R] proctype reader() {
  do :: atomic { writers == 0 && !wait -> readers++ }; assert(writers == 0); readers-- od }
active [2] proctype writer() {
  do :: wait = true; atomic { readers == 0 && writers == 0 -> writers++ }; wait = false;
     assert(readers == 0 && writers == 1); writers-- od }
ltl w { [] (writers == 1 -> (readers == 0 U writers == 0)) } /* ok */
ltl l { [] (wait -> <> (writers > 0)) } /* ok */

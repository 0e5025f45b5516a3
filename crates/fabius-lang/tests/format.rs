//! The formatter keeps meaning and comments, and does nothing to what it has written.

use fabius_lang::{format, parse};
use testkit::corpus::programs;

#[test]
fn every_program_keeps_its_tree_and_formats_to_itself() {
    for file in programs(&["corpus", "examples", "bench/models"]) {
        let source = std::fs::read_to_string(&file).expect("the file can be read");
        let once = format(&source).unwrap_or_else(|d| panic!("{}: {d:?}", file.display()));
        assert_eq!(parse(&source).0, parse(&once).0, "{}", file.display());
        let twice = format(&once).unwrap_or_else(|d| panic!("{}: {d:?}", file.display()));
        assert_eq!(once, twice, "{}", file.display());
    }
}

#[test]
fn one_style() {
    let source = "// top\n\n\nconst   N=0x10; // hex stays\nrecord R{a:int=1,b:ref R}\ninit{ // open\nlet x=any 0..N;if x==1{skip;}else if x==2{}else{/* in */ (y,_)=p( x ,1);}\n\n\n// end\n}\n";
    let wanted = "// top\n\nconst N = 0x10; // hex stays\nrecord R { a: int = 1, b: ref R }\ninit { // open\n    let x = any 0..N;\n    if x == 1 {\n        skip;\n    } else if x == 2 {} else { /* in */\n        (y, _) = p(x, 1);\n    }\n\n    // end\n}\n";
    assert_eq!(format(source).expect("it parses"), wanted);
}

#[test]
fn one_style_of_what_waits_and_asks() {
    let source = "channel c [ 2 ]:0..3[1];invariant  i:forall v  in a:v==0;fn f( a:int )->int{ // why\n a+1}\nprocess p[ i in 0 .. 1 ]{select{ // first\nwhen x>0{skip;}or when let y=c[0].receive(){x,y=y , x;}\n// else\nelse{}}}\n";
    let wanted = "channel c[2]: 0..3[1];\ninvariant i: forall v in a: v == 0;\nfn f(a: int) -> int { // why\n    a + 1\n}\nprocess p[i in 0..1] {\n    select { // first\n        when x > 0 {\n            skip;\n        } or when let y = c[0].receive() {\n            x, y = y, x;\n        } else { // else\n        }\n    }\n}\n";
    assert_eq!(format(source).expect("it parses"), wanted);
}

#[test]
fn one_style_of_collections_and_fairness() {
    let source = "var s:set[ 0 .. 3 ]=[1,2];var b:bag[ Colour;4 ];var q : seq[set[bool] ; N];var m:map[ thread ]int;\nproperty p:s . contains( 1 )leads to x under  weak fairness of p ,q[ 0 ]and strong fairness  of r;\n";
    let wanted = "var s: set[0..3] = [1, 2];\nvar b: bag[Colour; 4];\nvar q: seq[set[bool]; N];\nvar m: map[thread] int;\nproperty p: s.contains(1) leads to x under weak fairness of p, q[0] and strong fairness of r;\n";
    assert_eq!(format(source).expect("it parses"), wanted);
}

#[test]
fn what_does_not_parse_is_not_touched() {
    assert!(format("init { let }").is_err());
    assert_eq!(format("").expect("nothing is fine"), "");
    assert_eq!(format("// only a comment").expect("a comment is fine"), "// only a comment\n");
}

#[test]
fn signs_do_not_grow_together() {
    let source = "init {\n    let x = - -1 - - - -2;\n}\n";
    assert_eq!(format(source), Ok(source.to_string()));
    let source = "init {\n    let x = -(-1);\n    let y = !!true;\n    let z = ~~x - -x;\n}\n";
    assert_eq!(format(source), Ok(source.to_string()));
}

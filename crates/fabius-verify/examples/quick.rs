fn main() {
    let args: Vec<String> = std::env::args().collect();
    let source = std::fs::read_to_string(&args[1]).unwrap();
    let program = fabius_lang::compile(&source, &Default::default()).unwrap();
    let id = fabius_verify::program_id(&args[1], &source, &[], &[]);
    let report = fabius_verify::check(&program, &id, &Default::default(), &false.into(), &|_| {});
    println!("{report:#?}");
}

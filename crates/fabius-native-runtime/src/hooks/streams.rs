//! Streams of C++. The library that holds their functions is not instrumented: each call that changes a stream counts as an
//! access to it, so that two threads that use one stream without a lock race. The streams that a program begins with may
//! be used by all threads.

use super::library::shared;
use super::tsan::plain;
use crate::control::set_in_program;
use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

shared! {
    "rdi" => changes:
        _ZNSi10_M_extractIPvEERSiRT_ _ZNSi10_M_extractIbEERSiRT_ _ZNSi10_M_extractIdEERSiRT_ _ZNSi10_M_extractIeEERSiRT_
        _ZNSi10_M_extractIfEERSiRT_ _ZNSi10_M_extractIjEERSiRT_ _ZNSi10_M_extractIlEERSiRT_ _ZNSi10_M_extractImEERSiRT_
        _ZNSi10_M_extractItEERSiRT_ _ZNSi10_M_extractIxEERSiRT_ _ZNSi10_M_extractIyEERSiRT_ _ZNSi3getEPcl _ZNSi3getEPclc
        _ZNSi3getERSt15basic_streambufIcSt11char_traitsIcEE _ZNSi3getERSt15basic_streambufIcSt11char_traitsIcEEc _ZNSi3getERc
        _ZNSi3getEv _ZNSi4peekEv _ZNSi4readEPcl _ZNSi5seekgESt4fposI11__mbstate_tE _ZNSi5seekgElSt12_Ios_Seekdir _ZNSi5tellgEv
        _ZNSi5ungetEv _ZNSi6ignoreEl _ZNSi6ignoreEli _ZNSi6ignoreEv _ZNSi7getlineEPcl _ZNSi7getlineEPclc _ZNSi7putbackEc
        _ZNSi8readsomeEPcl _ZNSirsEPSt15basic_streambufIcSt11char_traitsIcEE _ZNSirsERPv _ZNSirsERb _ZNSirsERd _ZNSirsERe
        _ZNSirsERf _ZNSirsERi _ZNSirsERj _ZNSirsERl _ZNSirsERm _ZNSirsERs _ZNSirsERt _ZNSirsERx _ZNSirsERy _ZNSo3putEc
        _ZNSo5flushEv _ZNSo5seekpESt4fposI11__mbstate_tE _ZNSo5seekpElSt12_Ios_Seekdir _ZNSo5tellpEv _ZNSo5writeEPKcl
        _ZNSo9_M_insertIPKvEERSoT_ _ZNSo9_M_insertIbEERSoT_ _ZNSo9_M_insertIdEERSoT_ _ZNSo9_M_insertIeEERSoT_
        _ZNSo9_M_insertIlEERSoT_ _ZNSo9_M_insertImEERSoT_ _ZNSo9_M_insertIxEERSoT_ _ZNSo9_M_insertIyEERSoT_ _ZNSolsEDn _ZNSolsEPKv
        _ZNSolsEPSt15basic_streambufIcSt11char_traitsIcEE _ZNSolsEb _ZNSolsEd _ZNSolsEe _ZNSolsEf _ZNSolsEi _ZNSolsEj _ZNSolsEl
        _ZNSolsEm _ZNSolsEs _ZNSolsEt _ZNSolsEx _ZNSolsEy
        _ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l
        _ZSt2wsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_ _ZSt4endlIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_
        _ZSt4endsIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_ _ZSt5flushIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_
        _ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE
        _ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EES4_
        _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKa _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc
        _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKh _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_a
        _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_h
        _ZStlsIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_St12_Setiosflags
        _ZStlsIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_St13_Setprecision
        _ZStlsIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_St14_Resetiosflags
        _ZStlsIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_St5_Setw
        _ZStlsIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_St8_Setbase
        _ZStlsIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_St8_SetfillIS3_E
        _ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__cxx1112basic_stringIS4_S5_T1_EE
        _ZStrsISt11char_traitsIcEERSt13basic_istreamIcT_ES5_Pa _ZStrsISt11char_traitsIcEERSt13basic_istreamIcT_ES5_Ph
        _ZStrsISt11char_traitsIcEERSt13basic_istreamIcT_ES5_Ra _ZStrsISt11char_traitsIcEERSt13basic_istreamIcT_ES5_Rh
        _ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_PS3_ _ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_RS3_
        _ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_St12_Setiosflags
        _ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_St13_Setprecision
        _ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_St14_Resetiosflags
        _ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_St5_Setw
        _ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_St8_Setbase
        _ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_St8_SetfillIS3_E
        _ZStrsIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE
        _ZNSt13basic_fstreamIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode
        _ZNSt13basic_fstreamIcSt11char_traitsIcEE4openERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode
        _ZNSt13basic_fstreamIcSt11char_traitsIcEE5closeEv _ZNSt14basic_ifstreamIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode
        _ZNSt14basic_ifstreamIcSt11char_traitsIcEE4openERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode
        _ZNSt14basic_ifstreamIcSt11char_traitsIcEE5closeEv _ZNSt14basic_ofstreamIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode
        _ZNSt14basic_ofstreamIcSt11char_traitsIcEE4openERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode
        _ZNSt14basic_ofstreamIcSt11char_traitsIcEE5closeEv
        _ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strEONS_12basic_stringIcS2_S3_EE
        _ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strERKNS_12basic_stringIcS2_S3_EE
        _ZNSt7__cxx1119basic_istringstreamIcSt11char_traitsIcESaIcEE3strEONS_12basic_stringIcS2_S3_EE
        _ZNSt7__cxx1119basic_istringstreamIcSt11char_traitsIcESaIcEE3strERKNS_12basic_stringIcS2_S3_EE
        _ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEONS_12basic_stringIcS2_S3_EE
        _ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strERKNS_12basic_stringIcS2_S3_EE;
    "rsi" => reads:
        _ZNKSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strEv
        _ZNKSt7__cxx1119basic_istringstreamIcSt11char_traitsIcESaIcEE3strEv
        _ZNKSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEv;
}

/// The narrow streams that a program begins with; what they are called in the library.
static STANDARD: [(&CStr, AtomicUsize); 4] = [
    (c"_ZSt3cin", AtomicUsize::new(0)),
    (c"_ZSt4cout", AtomicUsize::new(0)),
    (c"_ZSt4cerr", AtomicUsize::new(0)),
    (c"_ZSt4clog", AtomicUsize::new(0)),
];

fn is_standard(stream: usize) -> bool {
    STANDARD.iter().any(|(name, address)| {
        if address.load(Relaxed) == 0 {
            // What the linker does is not the program's.
            set_in_program(false);
            // SAFETY: looks a name up.
            address.store(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize, Relaxed);
            set_in_program(true);
        }
        address.load(Relaxed) == stream
    })
}

/// The part of a stream that input and output have in common: where it is stands before the table of the stream's functions.
fn common(stream: usize) -> usize {
    // SAFETY: the program gives a stream, as the GNU library lays it out.
    unsafe {
        let table = *(stream as *const *const isize);
        stream.wrapping_add_signed(*table.sub(3))
    }
}

/// What of that part no code of the program's own looks at without a call: how many digits are shown.
const DIGITS: usize = 8;

fn uses(stream: usize, write: bool, pc: usize) {
    super::tsan::check_memory(stream, 8, write, pc);
    if !is_standard(stream) {
        plain("use of a stream", common(stream) + DIGITS, 8, write, pc);
    }
}

fn changes(_: &'static str, stream: usize, pc: usize) {
    uses(stream, true, pc);
}

fn reads(_: &'static str, stream: usize, pc: usize) {
    uses(stream, false, pc);
}

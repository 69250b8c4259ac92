#include "recorder_image.hpp"

#include <cstddef>

asm(".pushsection .rodata.cudart_doctor_recorder, \"a\", @progbits\n"
    ".balign 16\n"
    ".globl kCudartDoctorRecorder\n.hidden kCudartDoctorRecorder\nkCudartDoctorRecorder:\n"
    ".incbin \"" DOCTOR_RECORDER
    "\"\n"
    ".globl kCudartDoctorRecorderEnd\n.hidden kCudartDoctorRecorderEnd\nkCudartDoctorRecorderEnd:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const char kCudartDoctorRecorder[];
extern const char kCudartDoctorRecorderEnd[];
}

namespace cudart_doctor {

std::string_view recorder_image() { return {kCudartDoctorRecorder, kCudartDoctorRecorderEnd}; }

}  // namespace cudart_doctor

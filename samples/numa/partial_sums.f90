! Each thread adds to its own element of one array.
program partial_sums
  use omp_lib
  implicit none
  integer, parameter :: steps = 400000, piece = 400
  integer(8), allocatable :: sums(:)
  integer :: threads
  character(16) :: argument

  threads = 4
  call get_command_argument(1, argument)
  if (len_trim(argument) > 0) read (argument, *) threads
  call omp_set_num_threads(threads)
  allocate (sums(threads)) ! PLANTED: false-sharing
  !$omp parallel
  call add_up(sums(omp_get_thread_num() + 1), steps/threads)
  !$omp end parallel
  print '(a,i0)', 'checksum ', sum(sums)

contains

  subroutine add_up(total, count)
    integer(8), intent(out), volatile :: total
    integer, intent(in) :: count
    integer(8) :: part
    integer :: i
    total = 0
    do i = 1, count
      part = iand(scrambled(int(i, 8)), 3_8)
      total = total + part ! PLANTED: false-sharing
    end do
  end subroutine

  ! Work without memory, that no compiler finds a short cut for.
  pure integer(8) function scrambled(x)
    integer(8), intent(in) :: x
    integer :: round
    scrambled = x
    do round = 1, piece
      scrambled = ieor(scrambled, ishft(scrambled, 13))
      scrambled = ieor(scrambled, ishft(scrambled, -7))
      scrambled = ieor(scrambled, ishft(scrambled, 17))
    end do
  end function
end program

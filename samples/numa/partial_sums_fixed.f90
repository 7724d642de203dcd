! The sums of partial_sums.f90, each in a column of its own: two pages, of which it uses the middle.
program partial_sums
  use omp_lib
  implicit none
  integer, parameter :: steps = 12000000
  integer(8), allocatable :: sums(:, :)
  integer :: threads
  character(16) :: argument

  threads = 4
  call get_command_argument(1, argument)
  if (len_trim(argument) > 0) read (argument, *) threads
  call omp_set_num_threads(threads)
  allocate (sums(1024, threads))
  !$omp parallel
  call add_up(sums(512, omp_get_thread_num() + 1), steps/threads)
  !$omp end parallel
  print '(a,i0)', 'checksum ', sum(sums(512, :))

contains

  subroutine add_up(total, count)
    integer(8), intent(out), volatile :: total
    integer, intent(in) :: count
    integer :: i
    total = 0
    do i = 1, count
      total = total + iand(i, 3)
    end do
  end subroutine
end program
